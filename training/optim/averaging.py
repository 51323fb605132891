"""Averages of a model's weights over training: ``torch.optim.swa_utils.AveragedModel`` without a second model, which the
model of a run takes the weights of, and without waiting for the device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class WeightAverage:
    """A copy of ``model``'s parameters and saved buffers, which ``update`` moves towards the model.

    The first update copies, so that the random initial weights leave no trace. Integer buffers (batch norm's
    ``num_batches_tracked``) are always copied.
    """

    def __init__(self, model: nn.Module) -> None:
        saved, live = model.state_dict(), dict(model.named_parameters()) | dict(model.named_buffers())
        self.model = model
        self.live = {name: tensor.detach() for name, tensor in live.items() if name in saved}
        self.shadow = {name: tensor.clone() for name, tensor in self.live.items()}
        pairs = [(self.shadow[name], tensor) for name, tensor in self.live.items()]
        self.averaged = [(shadow, tensor) for shadow, tensor in pairs if tensor.is_floating_point()]
        self.copied = [(shadow, tensor) for shadow, tensor in pairs if not tensor.is_floating_point()]
        self.count = torch.zeros((), dtype=torch.int64, device=pairs[0][0].device)  # of updates

    def is_due(self, step: int) -> bool:
        """Whether the weights are to be taken in after ``step`` steps."""
        return True

    @property
    def started(self) -> bool:
        """Whether the average is the one to judge and to keep."""
        return True

    def weight(self) -> Tensor:
        """The model's share in the next average: 0-dim float32."""
        raise NotImplementedError

    def update(self, stepped: Tensor | bool = True) -> None:
        """Take in the weights, but not after a step that was not made; a tensor (0-dim bool) is not waited for."""
        stepped = torch.as_tensor(stepped, device=self.count.device)
        weight = self.weight() * stepped
        shadows, live = ([pair[side] for pair in self.averaged] for side in (0, 1))
        torch._foreach_lerp_(shadows, live, [weight.to(shadow.dtype) for shadow in shadows])
        for shadow, tensor in self.copied:
            shadow.copy_(torch.where(stepped, tensor, shadow))
        self.count.add_(stepped)

    def load_state_dict(self, state: Mapping[str, Tensor], count: int) -> None:
        """Go on from what ``shadow`` and ``count`` were."""
        for name, tensor in self.shadow.items():
            tensor.copy_(state[name])
        self.count.fill_(count)

    @contextmanager
    def swapped(self) -> Iterator[None]:
        """Inside, the model has the averaged weights, if there are any; afterwards its own again, to the bit."""
        live = dict(self.model.named_parameters()) | dict(
            self.model.named_buffers()
        )  # a network may assign others to buffers
        pairs = [(shadow, live[name].detach()) for name, shadow in self.shadow.items()] if self.started else []
        _exchange(pairs)
        try:
            yield
        finally:
            _exchange(pairs)


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
        super().__init__(model)
        self.decay = decay

    def weight(self) -> Tensor:
        return (self.count == 0).float().clamp(min=1.0 - self.decay)  # 1 at the first update


class SWA(WeightAverage):
    """Stochastic weight averaging (Izmailov et al. 2018): the equal average over the last stretch of training.

    Equals ``torch.optim.swa_utils.AveragedModel(model)`` updated after each step above ``first`` that ``every`` divides. Batch
    norm's statistics are not averaged but measured with the averaged weights (``measure_statistics``), as torch's ``update_bn``
    does.
    """

    def __init__(self, model: nn.Module, first: int, every: int) -> None:
        super().__init__(model)
        self.first = first
        self.every = every
        self.stale = False  # whether the statistics are older than the weights

    def is_due(self, step: int) -> bool:
        return step > self.first and step % self.every == 0

    @property
    def started(self) -> bool:
        return bool(self.count)

    def weight(self) -> Tensor:
        return 1.0 / (self.count + 1)

    def update(self, stepped: Tensor | bool = True) -> None:
        super().update(stepped)
        self.stale = True
