"""The program's own loop under a watch that does not let it wait for the device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.benchmarks.step import Ours, session_for
from training.config import parse_config
from training.engine.compile import compile_session
from training.engine.session import Session

WARM_UP = 3
"""Steps before the watched ones: in the first the checkpoints' room is laid out, once, after a look at the state."""


class _Reads(TorchDispatchMode):
    """Where there is no CUDA: counts the reads of a tensor's value, which on CUDA would wait for the device."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += operation is torch.ops.aten._local_scalar_dense.default
        return operation(*args, **(kwargs or {}))


class Watched(Ours):
    """From the end of the first step to that of the last, flushes apart, whatever waits raises; on the processor reads are
    counted. ``careless`` reads a value in each step."""

    def __init__(self, session: Session, workspace: Path, careless: bool) -> None:
        super().__init__(session, workspace)
        self.flushes = 0
        self.watched_steps = 0
        self.armed = False
        self._careless = careless
        self._device = session.device
        self._watching = False
        self.reads = _Reads()
        flush = self._step_logger.flush

        def flush_unwatched() -> None:
            with self._unwatched() as before:
                flush()
            self.flushes += before

        self._step_logger.flush = flush_unwatched  # type: ignore[method-assign]

    def _count(self) -> None:
        if self._careless:
            torch.zeros((), device=self._device).item()
        super()._count()
        self.watched_steps += self._watching
        self._watch(self.armed and self._left > 0)

    def _watch(self, on: bool) -> None:
        if on != self._watching:
            self._watching = on
            if self._device.type == "cuda":
                torch.cuda.set_sync_debug_mode("error" if on else "default")
            elif on:
                self.reads.__enter__()  # type: ignore[no-untyped-call]
            else:
                self.reads.__exit__(None, None, None)  # type: ignore[no-untyped-call]

    @contextmanager
    def _unwatched(self) -> Iterator[bool]:
        before = self._watching
        self._watch(False)
        try:
            yield before
        finally:
            self._watch(before)

    def careful(self) -> None:
        """Watch and wait no longer."""
        self._watch(False)
        self._careless = False

    def close(self) -> None:
        self.careful()
        super().close()


def watch(config: dict[str, Any], steps: int, workspace: Path, careless: bool = False) -> dict[str, Any]:
    """``steps`` watched steps of a run of ``config``: how many were made and how many flushes meanwhile, torch's words on
    what waited ("" for nothing), and on the processor how many values were read."""
    whole = {"name": "quiet", **config, "checkpoints": {"every_steps": 10**9}}
    whole["loop"] = {**config["loop"], "epochs": 1000}
    session = session_for(parse_config(whole), None)
    compile_session(session, lambda text, fraction: None)
    contestant = Watched(session, workspace, careless)
    waited = ""
    try:
        contestant.work(WARM_UP)
        contestant.armed = True
        contestant.work(steps + 1)
    except RuntimeError as error:
        contestant.careful()
        if "synchroniz" not in str(error):
            raise
        waited = str(error).splitlines()[0]
    finally:
        contestant.close()
    steps, flushes, reads = contestant.watched_steps, contestant.flushes, contestant.reads.count
    return {"steps": steps, "flushes": flushes, "waited": waited, "reads": reads}
