"""What ``torch.cuda.CUDAGraph`` does, done by the processor: operations are noted while they run and done again later.

As on a GPU, what is done again reads and writes the very memory that it did when it was noted. A test double: it shows
that the engine asks for a recording rightly, not that CUDA gives one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from training.checkpoints.snapshot import tensors_in

Work = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], Any]


class Graph:
    """``replay`` does again what was noted."""

    def __init__(self) -> None:
        self.work: list[Work] = []

    def replay(self) -> None:
        for function, given, named, made in self.work:
            again = function(*given, **named)
            for place, tensor in zip(tensors_in(made), tensors_in(again), strict=True):
                if place.data_ptr() != tensor.data_ptr():
                    place.copy_(tensor)


class _Noting(TorchDispatchMode):
    def __init__(self, graph: Graph) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._graph = graph

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = function(*args, **(kwargs or {}))
        self._graph.work.append((function, args, kwargs or {}, made))
        return made


class _Stream:
    def wait_stream(self, other: _Stream) -> None:
        """There is only one."""


def record_on_cpu(monkeypatch: pytest.MonkeyPatch, *, empty: bool = False) -> list[Graph]:
    """Let sessions on the processor be recorded; the graphs come into the list. ``empty``: nothing arrives in them."""
    graphs: list[Graph] = []

    @contextmanager
    def noting(graph: Graph) -> Iterator[None]:
        graphs.append(graph)
        with nullcontext() if empty else _Noting(graph):
            yield

    fork_rng = torch.random.fork_rng
    monkeypatch.setattr("training.engine.compile.wants_cuda_graph", lambda session: True)
    monkeypatch.setattr(torch.cuda, "device", lambda device: nullcontext())
    monkeypatch.setattr(torch.cuda, "Stream", _Stream)
    monkeypatch.setattr(torch.cuda, "current_stream", _Stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph", noting)
    monkeypatch.setattr(torch.random, "fork_rng", lambda devices: fork_rng(devices=[]))
    return graphs
