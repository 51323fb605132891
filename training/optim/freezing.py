"""What of a network keeps the weights it began with, and for how long."""

from __future__ import annotations

from collections.abc import Collection

from torch import nn


class Freezing:
    """Freezes parameters, and the statistics of the batch norms among them, for all time or until an epoch.

    Which it is at a moment depends on the epoch alone, so that a resumed run needs to know nothing else. A frozen parameter
    gets no gradient, and an optimizer leaves what has none as it is. What is frozen for a while has its place in the
    optimizer, and its state, from the start.
    """

    def __init__(self, model: nn.Module, names: Collection[str], unfreeze_epoch: int | None) -> None:
        """Freezes the parameters ``names`` before ``unfreeze_epoch``, None: for all time. Those are frozen at once: an optimizer
        is to leave them out."""
        self._until = unfreeze_epoch
        # What a network itself keeps fixed is not to be unfrozen here.
        self._parameters = [
            parameter for name, parameter in model.named_parameters() if name in names and parameter.requires_grad
        ]
        frozen = {id(parameter) for name, parameter in model.named_parameters() if name in names}
        self._norms = [
            module
            for module in model.modules()
            if isinstance(module, nn.modules.batchnorm._NormBase)
            and all(id(parameter) in frozen for parameter in module.parameters())
            and any(True for _ in module.parameters())
        ]
        self._model = model
        self._frozen = False
        if unfreeze_epoch is None:
            self.follow(0)

    def follow(self, epoch: int) -> None:
        """Freeze or unfreeze, as is due in ``epoch`` (whole epochs done)."""
        frozen = bool(self._parameters) and (self._until is None or epoch < self._until)
        if frozen != self._frozen:
            self._frozen = frozen
            for parameter in self._parameters:
                parameter.requires_grad_(not frozen)
            if self._model.training:
                self.train()

    def train(self) -> None:
        """Put the network into training mode, but for batch norms that keep their statistics."""
        self._model.train()
        if self._frozen:
            for norm in self._norms:
                norm.eval()
