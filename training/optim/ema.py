"""Averages of a model's weights over training: the exponential moving average, and the equal one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Average:
    """A shadow of ``model``'s parameters and buffers, which ``update`` moves towards the model.

    The first update copies, so that the random initial weights leave no trace. Integer buffers (batch norm's
    ``num_batches_tracked``) are copied instead of averaged. Updates can be refused on the device, and nothing waits for it.
    """

    @torch.no_grad()
    def __init__(self, model: nn.Module) -> None:
        live = _tensors(model)
        self._shadow = {name: tensor.detach().clone() for name, tensor in live.items()}
        averaged = [name for name, tensor in live.items() if tensor.is_floating_point()]
        self._averages = [self._shadow[name] for name in averaged]
        self._lives = [live[name] for name in averaged]
        self._copies = [(self._shadow[name], live[name]) for name in live if name not in set(averaged)]
        device = next(iter(live.values())).device
        self._updates = torch.zeros((), dtype=torch.int64, device=device)
        self._none = torch.zeros((), dtype=torch.float32, device=device)

    def is_due(self, step: int) -> bool:
        """Whether the weights are to be taken in once ``step`` steps were attempted."""
        return True

    @property
    def started(self) -> bool:
        """Whether the average is to be judged and kept (may wait for the device)."""
        return True

    def _weight(self) -> Tensor:
        """The share of the model in the next update: 0-dim float32 on its device."""
        raise NotImplementedError

    @torch.no_grad()
    def update(self, ok: Tensor | bool = True) -> None:
        """Take in the model's present weights, unless ``ok`` is False (plainly, or as a 0-dim bool on the device)."""
        if ok is False:
            return
        weight = self._weight()
        if ok is True:
            self._average(weight)
            for shadow, live in self._copies:
                shadow.copy_(live)
        else:
            self._average(torch.where(ok, weight, self._none))
            for shadow, live in self._copies:
                shadow.copy_(torch.where(ok, live, shadow))
        self._updates.add_(ok)

    def _average(self, weight: Tensor) -> None:
        weights = [weight if tensor.dtype == weight.dtype else weight.to(tensor.dtype) for tensor in self._averages]
        torch._foreach_lerp_(self._averages, self._lives, weights)

    def state_dict(self) -> dict[str, Tensor]:
        """The average under the model's own names; the tensors are this object's own, not copies."""
        return dict(self._shadow)

    @property
    def counter(self) -> Tensor:
        """The number of updates, int64 on the device: the tensor itself, for a compiled step that makes them."""
        return self._updates

    @property
    def updates(self) -> int:
        """How many updates were taken in (waits for the device)."""
        return int(self._updates)

    @torch.no_grad()
    def load_state_dict(self, state: Mapping[str, Tensor], updates: int) -> None:
        """Go on from ``state_dict()`` and ``updates``. KeyError when names differ from the model's."""
        if set(state) != set(self._shadow):
            different = sorted(set(state) ^ set(self._shadow))
            raise KeyError(f"the average does not fit the model: {', '.join(different[:3])}")
        for name, tensor in self._shadow.items():
            tensor.copy_(state[name])
        self._updates.fill_(updates)

    def restart(self) -> None:
        """Forget everything taken in."""
        self._updates.zero_()

    @contextmanager
    def swapped(self, model: nn.Module) -> Iterator[None]:
        """Inside, ``model`` has the averaged weights; afterwards its own again, bit for bit, even after an error."""
        self._exchange(model)
        try:
            yield
        finally:
            self._exchange(model)

    @torch.no_grad()
    def _exchange(self, model: nn.Module) -> None:
        for name, tensor in _tensors(model).items():
            kept = tensor.detach().clone()  # one tensor at a time: never a third copy of the model
            tensor.copy_(self._shadow[name])
            self._shadow[name].copy_(kept)


class Ema(Average):
    """The exponential moving average: ``shadow = decay * shadow + (1 - decay) * model``, taken at every step.

    Equals ``torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(decay), use_buffers=True)``, but
    for what ``Average`` says.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        super().__init__(model)
        self.decay = decay
        # As tensors on the device: torch would copy plain numbers there at each use, and wait for it.
        self._first, self._usual = (
            torch.tensor(weight, dtype=torch.float32, device=self._updates.device) for weight in (1.0, 1.0 - decay)
        )

    def _weight(self) -> Tensor:
        return torch.where(self._updates == 0, self._first, self._usual)


class Swa(Average):
    """Stochastic weight averaging (Izmailov et al. 2018): the equal average over the last stretch of training.

    Equals ``torch.optim.swa_utils.AveragedModel(model)`` updated after each step above ``first`` that ``every`` divides. There
    is no average before; batch norm's statistics are not averaged but have to be measured with the averaged weights
    (``training.engine.statistics``), as torch's ``update_bn`` does.
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
        return self.updates > 0

    def update(self, ok: Tensor | bool = True) -> None:
        super().update(ok)
        self.stale = True

    def restart(self) -> None:
        super().restart()
        self.stale = False

    def load_state_dict(self, state: Mapping[str, Tensor], updates: int) -> None:
        """As ``Average``'s; what was saved has its statistics."""
        super().load_state_dict(state, updates)
        self.stale = False

    def _weight(self) -> Tensor:
        return 1.0 / (self._updates + 1)


def _tensors(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers by the names of ``model.state_dict()``; buffers that are not saved are left out."""
    saved = set(model.state_dict().keys())
    named: dict[str, Tensor] = dict(model.named_parameters())
    named.update({name: buffer for name, buffer in model.named_buffers() if name in saved})
    return named
