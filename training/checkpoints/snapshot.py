"""A copy of everything a checkpoint holds, taken at one moment, independent of what trains on."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

_MOST_WAITING = 32
"""Snapshots that may wait for the disk at once, however small: what waits is lost with the process."""


@dataclass(frozen=True)
class Snapshot:
    """One checkpoint's content in host memory. ``facts`` go into the manifest as they are."""

    step: int
    epoch: int
    weights: dict[str, Tensor]
    averaged: dict[str, Tensor]  # empty without EMA or SWA
    state: dict[str, Any]
    metrics: Mapping[str, float]
    facts: Mapping[str, Any] = field(default_factory=dict)
    arrived: Callable[[], None] = lambda: None
    """Waits until copies from a GPU are complete; to be called before the tensors are read."""
    release: Callable[[], None] = lambda: None
    """Gives the memory back once the tensors are not needed any more."""


@dataclass
class Copied:
    """``content`` is the copy, ``buffers`` the memory it lies in."""

    content: Any
    size: int
    buffers: list[tuple[Any, Tensor]] = field(default_factory=list)
    arrived: Callable[[], None] = lambda: None


class SnapshotMemory:
    """Host memory for snapshots that wait to be written, ``limit`` bytes of it or one snapshot, whichever is more.

    Memory that was written out is used again: touching 300 MB for the first time takes thirty times as long as copying
    into memory that is already there (650 ms and 22 ms, measured), and the loop stands still meanwhile.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._free: dict[Any, list[Tensor]] = defaultdict(list)
        self._in_use = self._last_size = 0
        self._changed = threading.Condition()

    @property
    def is_scarce(self) -> bool:
        """Whether another copy as large as the last would have to wait."""
        return self._in_use + self._last_size > self._limit

    def copy(self, content: Any) -> Copied:
        """A deep copy of ``content`` on the host; waits while too much of earlier copies is in use.

        Tensors keep their memory order, dicts, lists and tuples are rebuilt. Copies from a GPU are queued behind what
        it is doing, without waiting for it. Texts are interned, because pickle writes a text that is the same object
        twice in another way than two equal ones: a resumed run's file would differ from the unbroken run's though
        every number in it agrees.
        """
        size = max(sum(tensor.nbytes for tensor in tensors_in(content)), self._limit // _MOST_WAITING)
        with self._changed:
            self._changed.wait_for(lambda: not self._in_use or self._in_use + size <= self._limit)
            self._in_use += size
            self._last_size = size
        copied = Copied(None, size)
        copied.content = self._copied(content, copied.buffers)
        gpus = {tensor.device for tensor in tensors_in(content) if tensor.device.type == "cuda"}
        events = [torch.cuda.current_stream(gpu).record_event() for gpu in gpus]

        def arrived() -> None:
            for event in events:
                event.synchronize()

        copied.arrived = arrived
        return copied

    def give_back(self, copied: Copied) -> None:
        """``copied`` is read no more. Not before: the next copy is written over it."""
        with self._changed:
            for key, buffer in copied.buffers:
                self._free[key].append(buffer)
            copied.buffers.clear()
            self._in_use -= copied.size
            self._changed.notify_all()

    def prepare(self, content: Any) -> Callable[[], None]:
        """What makes the first copy of such ``content`` as fast as later ones; for another thread, as it takes a while."""
        wanted = [(tensor.shape, tensor.stride(), tensor.dtype, tensor.device.type) for tensor in tensors_in(content)]

        def touch() -> None:
            for key in wanted:
                buffer = _buffer(*key)
                ctypes.memset(buffer.data_ptr(), 0, buffer.nbytes)
                with self._changed:
                    self._free[key].append(buffer)

        return touch

    def _copied(self, value: Any, buffers: list[tuple[Any, Tensor]]) -> Any:
        if isinstance(value, Tensor):
            key = value.shape, value.stride(), value.dtype, value.device.type
            with self._changed:
                free = self._free[key]
                buffer = free.pop() if free else None
            if buffer is None:
                buffer = _buffer(*key)
            buffers.append((key, buffer))
            return _filled(buffer, value.detach())
        if isinstance(value, str):
            return sys.intern(value)
        if isinstance(value, dict):
            return {self._copied(key, buffers): self._copied(item, buffers) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self._copied(item, buffers) for item in value)
        return value


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


def _filled(buffer: Tensor, value: Tensor) -> Tensor:
    if value.device.type != "cpu" or value.stride() != buffer.stride() or value.is_conj() or value.is_neg():
        return buffer.copy_(value, non_blocking=True)
    # One thread fills the memory bus already. copy_ takes all and waits for them at every tensor: 800 ms instead of 100
    # for 300 MB, when other programs want the cores, too (measured).
    ctypes.memmove(buffer.data_ptr(), value.data_ptr(), value.nbytes)
    return buffer


def _buffer(shape: torch.Size, stride: tuple[int, ...], dtype: torch.dtype, device: str) -> Tensor:
    """Host memory in the order that ``Tensor.to("cpu", copy=True)`` would choose; pinned for copies from a GPU."""
    like = torch.empty_strided(shape, stride, dtype=dtype, device="meta")
    return torch.empty_like(like, device="cpu", pin_memory=device == "cuda")
