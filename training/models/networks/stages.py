"""A network cut into stages from its input to its head, for freezing by depth and for a learning rate by depth."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from torch import nn

_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)
_Sort = Literal["free", "embedding", "layer"]


def stages(model: nn.Module) -> list[list[str]]:
    """The names of ``model``'s parameters (``named_parameters``), stage by stage; the last stage is the head.

    A stage is what stands in the network's sequence as one piece: a block (of a residual network, a transformer), or a
    single layer where layers follow each other plainly. Lists of modules are taken apart, and so is a module that holds
    more than half of all weights, such as an encoder or a backbone: it is a sequence itself. What has no matrix of its own
    (norms, scales) belongs to the piece before it, embeddings and free parameters (tokens, positions) to the input. A
    shared parameter belongs where it comes first; a head that has none but such (a tied embedding) is an empty stage.

    The order is the one in which the modules were registered, which is that of the forward pass in torchvision's and
    timm's networks and in ours. Every parameter is in exactly one stage; a network without parameters has none.
    """
    cutting = _Cutting(model)
    cutting.add(model, whole=True)
    return [*cutting.stages, []] if cutting.shares_head else cutting.stages


class _Cutting:
    """Walks through the modules once, and puts each parameter where it belongs."""

    def __init__(self, model: nn.Module) -> None:
        self.stages: list[list[str]] = []
        self.shares_head = False
        self._sorts: set[_Sort] = set()  # of all that was placed
        self._names = {id(parameter): name for name, parameter in model.named_parameters()}
        self._placed: set[int] = set()
        self._large = sum(parameter.numel() for parameter in model.parameters()) / 2

    def add(self, module: nn.Module, whole: bool = False) -> None:
        """Cut ``module`` into stages, or make it one."""
        if not self._is_sequence(module, whole):
            self._place(module.parameters(), "embedding" if isinstance(module, nn.Embedding) else "layer")
            return
        self._place(module.parameters(recurse=False), "free")
        for child in module.children():
            self.add(child)

    def _is_sequence(self, module: nn.Module, whole: bool) -> bool:
        if not any(True for _ in module.children()):
            return False
        size = sum(parameter.numel() for parameter in module.parameters())
        return whole or isinstance(module, _CONTAINERS) or size > self._large

    def _place(self, parameters: Iterable[nn.Parameter], sort: _Sort) -> None:
        own = list(parameters)
        new = [parameter for parameter in own if id(parameter) not in self._placed]
        self.shares_head = bool(own) and not new  # as far as the last piece goes
        if not new:
            return
        names = [self._names[id(parameter)] for parameter in new]
        if sort == "layer":
            # The layer that makes patches out of an image comes after the tokens that are put beside them.
            joins = self._sorts == {"free"} or max(parameter.ndim for parameter in new) < 2
        else:
            joins = sort == "free" or "layer" not in self._sorts
        if self.stages and joins:
            self.stages[-1] += names
        else:
            self.stages.append(names)
        self._sorts.add(sort)
        self._placed.update(id(parameter) for parameter in new)
