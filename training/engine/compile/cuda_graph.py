"""``precision.cuda_graphs``: a step recorded once on an NVIDIA GPU and replayed, all its kernels by a single launch.

Starting a kernel takes the CPU a few microseconds, so a small network leaves the GPU waiting for orders. Recorded
is, proven on CPUs only for lack of a GPU, the same function of tensors that ``precision.compile`` compiles (``step_graph``),
compiled or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from training.checkpoints.snapshot import tensors_in
from training.engine.session import Session
from training.errors import InputError

LAUNCH_BOUND = 1_000_000
"""Parameters below which a step's kernels are taken to be shorter than their starts: "auto" records the step then."""

_NO_RESULT = -12345.678
"""No loss and no norm."""

WARM_UP = 3
"""Rounds before recording, as torch's documentation asks for: libraries take their workspaces in the first ones."""


def wants_cuda_graph(session: Session) -> bool:
    """Whether steps are to be recorded; raises InputError where they are to be and cannot."""
    wanted, compiled = session.config.precision.cuda_graphs, session.config.precision.compile
    nvidia = session.device.type == "cuda" and torch.version.cuda is not None
    if wanted == "on" and not nvidia:
        raise InputError(
            f"precision.cuda_graphs: only NVIDIA GPUs have them, and this run works on {session.device}; use --set "
            "precision.cuda_graphs=auto.",
            fix={"precision.cuda_graphs": "auto"},
        )
    if wanted == "on" and compiled == "model":
        raise InputError(
            "precision.cuda_graphs: they record whole steps, not only the network; use --set precision.compile=step or "
            "=off with them.",
            fix={"precision.compile": "step"},
        )
    if wanted == "auto":
        small = sum(parameter.numel() for parameter in session.parameters) < LAUNCH_BOUND
        return nvidia and small and compiled != "model" and session.config.loop.slots == 1
    return wanted == "on"


class RecordedGraph:
    """A function of tensors on the GPU, recorded for the shapes and the places in memory that it was given.

    Recording needs warm-up rounds, which compute for real; whatever they change is put back. torch registers the GPU's
    random generator with the recording, so dropout goes on from replay to replay, and from a checkpoint.
    """

    def __init__(self, function: Callable[..., Any], held: Any, *others: Tensor) -> None:
        """``others`` change from call to call; ``held`` stay where they are until ``bind`` brings others."""
        self._function = function
        self._device = next(tensors_in(held)).device
        self._others = [tensor.clone() for tensor in others]
        self._addresses: list[int] = []
        self._graph: torch.cuda.CUDAGraph | None = None
        self._results: Sequence[Tensor] = ()
        self.bind(held)

    def bind(self, held: Any) -> None:
        """Go on with these tensors: recorded again where they lie elsewhere."""
        addresses = [tensor.data_ptr() for tensor in tensors_in(held)]
        if addresses != self._addresses:
            self._addresses = addresses
            self._record(held)

    def _record(self, held: Any) -> None:
        # Streams and recordings belong to the current device, which is the first GPU wherever the tensors lie.
        with (
            torch.cuda.device(self._device),
            torch.no_grad(),
            _preserve(list(tensors_in(held))),
            torch.random.fork_rng([self._device]),
        ):
            aside = torch.cuda.Stream()
            aside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(aside):
                for _ in range(WARM_UP):
                    self._function(held, *self._others)
            torch.cuda.current_stream().wait_stream(aside)
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                results = self._function(held, *self._others)
            self._results = [results] if torch.is_tensor(results) else list(results)
            self._prove()

    def _prove(self) -> None:
        """Replay once and see the results being computed; raises InputError where they are not.

        Of work that went to another device or stream nothing is recorded. torch then only warns, and every replay would
        leave weights and results as they are.
        """
        assert self._graph is not None
        for result in self._results:
            result.fill_(_NO_RESULT)
        self._graph.replay()
        if any(bool((result == _NO_RESULT).any()) for result in self._results):
            raise InputError(
                "precision.cuda_graphs: nothing of this run's step could be recorded, because it does its work on another "
                "device or stream; use --set precision.cuda_graphs=off.",
                fix={"precision.cuda_graphs": "off"},
            )

    def __call__(self, *others: Tensor) -> list[Tensor]:
        """Compute with these in the place of the first others; what is returned is the caller's own."""
        for place, tensor in zip(self._others, others, strict=True):
            place.copy_(tensor, non_blocking=True)
        assert self._graph is not None
        with torch.cuda.device(self._device):
            self._graph.replay()
            return [result.clone() for result in self._results]


@contextmanager
def _preserve(tensors: list[Tensor]) -> Iterator[None]:
    kept = [tensor.clone() for tensor in tensors]
    try:
        yield
    finally:
        for tensor, before in zip(tensors, kept, strict=True):
            tensor.copy_(before)
