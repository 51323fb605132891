"""A copy of everything a checkpoint holds, taken at one moment, independent of what trains on."""

from __future__ import annotations

import ctypes
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NotRequired, TypedDict

import torch
from torch import Tensor
from torch.optim.optimizer import StateDict


class RngState(TypedDict):
    """Where the random generators stand that a step draws from."""

    cpu: Tensor
    cuda: list[Tensor]
    mps: NotRequired[Tensor]
    python: NotRequired[list[Any]]
    numpy: NotRequired[dict[str, Any]]


class TrainingState(TypedDict):
    """What ``state.pt`` holds, the weights excepted: plain numbers and tensors that ``torch.load(weights_only=True)`` accepts."""

    progress: dict[str, Any]
    optimizer: StateDict
    scaler: StateDict
    plateau: dict[str, float]
    ema_updates: int
    rng: RngState


@dataclass(frozen=True)
class Snapshot:
    """One checkpoint's content in host memory. ``facts`` go into the manifest as they are."""

    step: int
    epoch: int
    weights: dict[str, Tensor]
    averaged: dict[str, Tensor]  # empty without EMA or SWA
    state: TrainingState
    metrics: Mapping[str, float]
    facts: Mapping[str, Any] = field(default_factory=dict)
    wait_for_copies: Callable[[], None] = lambda: None
    """Waits until copies from a GPU are complete; to be called before the tensors are read."""


@dataclass
class Copied:
    """``content`` is the copy; ``wait_for_copies`` waits until it is complete."""

    content: Any
    wait_for_copies: Callable[[], None]


class SnapshotMemory:
    """Host memory for one snapshot, which the next is written over.

    Touching 300 MB for the first time takes thirty times as long as copying into memory that is already there (650 ms and
    22 ms, measured), and the loop stands still meanwhile.
    """

    def __init__(self) -> None:
        self._buffers: dict[Any, list[Tensor]] = defaultdict(list)

    def copy(self, content: Any) -> Copied:
        """A deep copy of ``content`` on the host, in the place of the one before.

        Tensors keep their memory order, dicts, lists and tuples are rebuilt. Copies from a GPU are queued behind what
        it is doing, without waiting for it. Texts are interned, because pickle writes a text that is the same object
        twice in another way than two equal ones: a resumed run's file would differ from the unbroken run's though
        every number in it agrees.
        """
        copied = self._copy(content, {kind: list(buffers) for kind, buffers in self._buffers.items()})
        gpus = {tensor.device for tensor in tensors_in(content) if tensor.device.type == "cuda"}
        events = [torch.cuda.current_stream(gpu).record_event() for gpu in gpus]

        def wait_for_copies() -> None:
            for event in events:
                event.synchronize()

        return Copied(copied, wait_for_copies)

    def _copy(self, value: Any, free: Mapping[Any, list[Tensor]]) -> Any:
        if isinstance(value, Tensor):
            kind = _kind(value)
            if free.get(kind):
                buffer = free[kind].pop()
            else:
                buffer = _buffer(*kind)
                self._buffers[kind].append(buffer)
            return _fill(buffer, value.detach())
        if isinstance(value, str):
            return sys.intern(value)
        if isinstance(value, dict):
            return {self._copy(key, free): self._copy(item, free) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self._copy(item, free) for item in value)
        return value


def _kind(tensor: Tensor) -> tuple[torch.Size, tuple[int, ...], torch.dtype, str]:
    return tensor.shape, tensor.stride(), tensor.dtype, tensor.device.type


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors in nested tuples, lists and dicts. Not in all that is a ``Mapping``: once torch's compiler is there,
    the first question for that takes 0.3 s, because it goes through thousands of classes."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)


def _fill(buffer: Tensor, value: Tensor) -> Tensor:
    if value.device.type != "cpu" or value.stride() != buffer.stride() or value.is_conj() or value.is_neg():
        return buffer.copy_(value, non_blocking=True)
    # One thread fills the memory bus already. copy_ takes all and waits for them at every tensor: 800 ms instead of 100
    # for 300 MB, when other programs want the cores, too (measured).
    ctypes.memmove(buffer.data_ptr(), value.data_ptr(), value.nbytes)
    return buffer


def _buffer(shape: torch.Size, stride: tuple[int, ...], dtype: torch.dtype, device: str) -> Tensor:
    """Host memory in the order that ``Tensor.to("cpu", copy=True)`` would choose; pinned for copies from a GPU."""
    # Not a tensor of device "meta": for those torch would import sympy here.
    like = torch.empty_strided(shape, stride, dtype=dtype)
    like.untyped_storage().resize_(0)  # asked for its order only
    return torch.empty_like(like, pin_memory=device == "cuda")
