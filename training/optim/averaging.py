"""Averages of a model's weights over training, by ``training.core.averaging``: what ``torch.optim.swa_utils.AveragedModel``
does, but without a second model (the run's own takes the averaged weights) and without waiting for the device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor, nn

from training.core.averaging import ema_share, swa_share, update_average


class WeightAverage:
    """A copy of ``model``'s parameters and saved buffers, which ``update`` moves towards the model by ``share`` of the number of
    updates before (0-dim each)."""

    def __init__(self, model: nn.Module, share: Callable[[Tensor], Tensor]) -> None:
        saved = model.state_dict()
        self.model = model
        self.share = share
        self.live = {name: tensor for name, tensor in _tensors(model).items() if name in saved}
        self.shadow = {name: tensor.clone() for name, tensor in self.live.items()}
        self.pairs = [(self.shadow[name], tensor) for name, tensor in self.live.items()]
        self.count = torch.zeros((), dtype=torch.int64, device=self.pairs[0][0].device)  # of updates

    def is_due(self, step: int) -> bool:
        """Whether the weights are to be taken in after ``step`` steps."""
        return True

    @property
    def started(self) -> bool:
        """Whether the average is the one to judge and to keep."""
        return True

    def update(self, stepped: Tensor | bool = True) -> None:
        """Take in the weights, but not after a step that was not made; a tensor (0-dim bool) is not waited for."""
        stepped = torch.as_tensor(stepped, device=self.count.device)
        update_average(self.pairs, self.share(self.count) * stepped)
        self.count.add_(stepped)

    def load_state_dict(self, state: Mapping[str, Tensor], count: int) -> None:
        """Go on from what ``shadow`` and ``count`` were."""
        for name, tensor in self.shadow.items():
            tensor.copy_(state[name])
        self.count.fill_(count)

    @contextmanager
    def swap_weights(self) -> Iterator[None]:
        """Inside, the model has the averaged weights, if there are any; afterwards its own again, to the bit."""
        live = _tensors(self.model)  # a network may have assigned others to its buffers
        pairs = [(shadow, live[name]) for name, shadow in self.shadow.items()] if self.started else []
        _exchange(pairs)
        try:
            yield
        finally:
            _exchange(pairs)


def _tensors(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers by name, those in several places once."""
    return {name: tensor.detach() for name, tensor in (*model.named_parameters(), *model.named_buffers())}


def _exchange(pairs: list[tuple[Tensor, Tensor]]) -> None:
    for left, right in pairs:
        kept = left.clone()  # one tensor at a time: never a third copy of the model
        left.copy_(right)
        right.copy_(kept)


class EMA(WeightAverage):
    """``shadow = decay * shadow + (1 - decay) * model``, taken after every step.

    Equals ``torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(decay), use_buffers=True)``, but for
    the integer buffers.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        super().__init__(model, partial(ema_share, decay=decay))


class SWA(WeightAverage):
    """Stochastic weight averaging (Izmailov et al. 2018): the equal average over the last stretch of training.

    Equals ``torch.optim.swa_utils.AveragedModel(model)`` updated after each step above ``first`` that ``every`` divides. Batch
    norm's statistics are not averaged but measured with the averaged weights (``measure_statistics``), as torch's ``update_bn``
    does.
    """

    def __init__(self, model: nn.Module, first: int, every: int) -> None:
        super().__init__(model, swa_share)
        self.first = first
        self.every = every
        self.stale = False  # whether the statistics are older than the weights

    def is_due(self, step: int) -> bool:
        return step > self.first and step % self.every == 0

    @property
    def started(self) -> bool:
        return bool(self.count)

    def update(self, stepped: Tensor | bool = True) -> None:
        super().update(stepped)
        self.stale = True
