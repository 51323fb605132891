"""The gradients of a step, summed up over all processes while the backward pass still makes more of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from training.engine.ranks.group import Ranks

BUCKET_BYTES = 25 << 20
"""Gradients that are summed up in one go, as torch's DistributedDataParallel has them. The buckets are cut from the last parameter to the
first, as their gradients arrive, and never again, unlike its own, so that a resumed run adds up in the same order."""


def travels_early(device: torch.device) -> bool:
    """Whether sums are made beside the backward pass: on CPUs gloo's threads take more from it than they save, with a link of 1 Gbit/s too."""
    return device.type == "cuda"


class GradientSum:
    """Sends each bucket off as soon as a step's last backward pass has all of it, where ``travels_early``. Every rank sends the same buckets in
    the same order.

    What is sent is a copy: until ``put`` each gradient stays this rank's own, and the sum can be made again.
    """

    def __init__(self, parameters: Sequence[nn.Parameter], ranks: Ranks) -> None:
        self._parameters = list(parameters)
        self._ranks = ranks
        self._own: tuple[bool, ...] = ()  # which parameters have a gradient of this rank
        self._trained = (False,) * len(self._parameters)  # and of any
        self._buckets: list[list[nn.Parameter]] = []
        self._bucket_of: dict[Tensor, int] = {}
        self._waiting: list[set[Tensor]] = []  # of each bucket, those whose gradient is not whole yet
        self._under_way: deque[tuple[Tensor, Callable[[], None]]] = deque()
        self.sent = 0
        """How many buckets of this step went off."""
        self._expected = 0
        self._watched: set[nn.Parameter] = set()
        self._waits = not travels_early(self._parameters[0].device)  # for the end of the step
        self._is_last = False
        self.has_changed = False
        """Whether a gradient of this step changed after it was sent, as where a part of a network runs its backward pass twice."""

    def expect(self, sent: int) -> None:
        """Another rank has sent so many, and waits for as many of this one."""
        self._expected = sent

    def begin(self) -> None:
        """A step begins, or one that was cut short begins again: what is still on its way means nothing any more."""
        while self.sent < self._expected:
            self._send()
        while self._under_way:
            self._receive()
        self.sent, self._expected, self._is_last, self.has_changed = 0, 0, False, False

    def begin_last_pass(self) -> None:
        """The next backward pass is the step's last one."""
        self._waiting = [set(bucket) for bucket in self._buckets]
        self._is_last = not self._waits

    def finish(self) -> bool:
        """The last backward pass is over; returns whether this rank has gradients of other parameters than those that the buckets were cut
        for."""
        self._is_last = False
        self._own = tuple(parameter.grad is not None for parameter in self._parameters)
        return self._own != self._trained

    def cut_again(self) -> None:
        """For the parameters that have a gradient in any rank now; where these are others, what was sent means nothing any more."""
        trained = tuple(map(bool, self._ranks.agree(*self._own)))
        if trained == self._trained:
            return
        self._trained = trained
        self.begin()
        for parameter, own in zip(self._parameters, self._own, strict=True):
            if not own:
                parameter.grad = None
        self._cut()

    def send_again(self) -> None:
        """The gradients as they are at the end of the step."""
        self._waits = self._waits or self.has_changed
        self.begin()

    @torch.no_grad()
    def put(self) -> None:
        """Send what is left and wait for all sums; they take the place of the gradients."""
        for number, bucket in enumerate(self._buckets):
            if number == self.sent:
                self._send()
            put_back(self._receive(), [gradient for parameter in bucket if (gradient := parameter.grad) is not None])

    def _cut(self) -> None:
        self._buckets, size = [], 0
        for parameter, trained in zip(reversed(self._parameters), reversed(self._trained), strict=True):
            if not trained:
                continue
            if not self._buckets or size >= BUCKET_BYTES or parameter.dtype != self._buckets[-1][0].dtype:
                self._buckets.append([])
                size = 0
            self._buckets[-1].append(parameter)
            size += parameter.nbytes
            if parameter not in self._watched:
                self._watched.add(parameter)
                parameter.register_post_accumulate_grad_hook(self._take)
        self._bucket_of = {parameter: number for number, bucket in enumerate(self._buckets) for parameter in bucket}

    def _take(self, parameter: Tensor) -> None:
        """The gradient of ``parameter`` has come out of a backward pass."""
        if not self._is_last or parameter not in self._bucket_of:
            return
        number = self._bucket_of[parameter]
        if number < self.sent:
            self.has_changed = True
            return
        self._waiting[number].discard(parameter)
        while self.sent < len(self._buckets) and not self._waiting[self.sent]:
            self._send()

    @torch.no_grad()
    def _send(self) -> None:
        bucket = self._buckets[self.sent]
        for parameter in bucket:
            if parameter.grad is None:  # another rank has used it, or what is sent means nothing
                parameter.grad = torch.zeros_like(parameter)
        flat = torch.cat([parameter.grad.reshape(-1) for parameter in bucket if parameter.grad is not None])
        self._under_way.append((flat, self._ranks.begin_adding(flat)))
        self.sent += 1

    def _receive(self) -> Tensor:
        flat, wait = self._under_way.popleft()
        wait()
        return flat


def put_back(flat: Tensor, tensors: Sequence[Tensor]) -> None:
    """Into ``tensors`` the numbers that were laid end to end."""
    parts = flat.split([tensor.numel() for tensor in tensors])
    for tensor, part in zip(tensors, parts, strict=True):
        tensor.copy_(part.view(tensor.shape))
