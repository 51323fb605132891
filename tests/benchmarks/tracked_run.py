"""A run of ``tests.benchmarks.tracking`` in a process of its own, which measures itself: it prints one JSON object."""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, cast

import psutil

import training.sidecars.process as sidecars
from training.engine.recovery.memory import OutOfMemory
from training.engine.runs import run_writer
from training.engine.runs.run import Hooks, start_run
from training.presets import load_preset
from training.runs.folder import RunFolder
from training.tracking.cursor import read_cursor


class Turns:
    """Steps in turn with the process that sends the run stopped and at work. A step is all from one call of ``run_step`` to the next:
    samples, arithmetic, bookkeeping, what goes to the disk."""

    def __init__(self) -> None:
        self.steps: dict[str, list[tuple[float, float]]] = {"starting": [], "following": []}
        """Thread CPU seconds and elapsed seconds of each step; of four the first and the last with the other process at work."""
        self.others: dict[str, float] = {}
        self.folder: RunFolder | None = None
        self.process: psutil.Process | None = None
        self._began: tuple[float, float] | None = None
        self._phase = "starting"

    def enter(self) -> None:
        """A step begins, and the one before it is over."""
        now = time.thread_time(), time.perf_counter()
        if self.process is None or self.folder is None:
            return
        done = self.steps[self._phase]
        if self._began is not None:
            done.append((now[0] - self._began[0], now[1] - self._began[1]))
        at_work = len(done) % 4 in (0, 3)  # as many first as second of two: what lies in their order falls on both
        if at_work:
            times = self.process.cpu_times()
            self.others[self._phase] = times.user + times.system
            if self._phase == "starting" and read_cursor(self.folder, "tensorboard").steps:
                self._phase = "following"
        self.process.send_signal(signal.SIGCONT if at_work else signal.SIGSTOP)
        self._began = time.thread_time(), time.perf_counter()


class Callgrind:
    """Has callgrind count the instructions of this thread, and of no other: by what valgrind calls client requests, which is a sequence
    of instructions that does nothing on a machine without it. x86_64."""

    _REQUEST = bytes.fromhex("4889f831d248c1c70348c1c70d48c1c73d48c1c7334887db4889d0c3")
    _TOOL = int.from_bytes(b"CT") << 16
    _TOGGLE_COLLECT, _START_INSTRUMENTATION, _STOP_INSTRUMENTATION = 2, 4, 5

    def __init__(self) -> None:
        self._page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self._page.write(self._REQUEST)
        place = ctypes.addressof(ctypes.c_char.from_buffer(self._page))
        self._call = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(place)

    def _ask(self, number: int) -> None:
        words = (ctypes.c_uint64 * 6)(self._TOOL | number)
        self._call(ctypes.addressof(words))

    def start(self) -> None:
        """Count from here on."""
        self._ask(self._START_INSTRUMENTATION)
        self._ask(self._TOGGLE_COLLECT)

    def stop(self) -> None:
        """To here."""
        self._ask(self._TOGGLE_COLLECT)
        self._ask(self._STOP_INSTRUMENTATION)


def count(steps: int) -> None:
    """Have callgrind count ``steps`` whole steps from the second one on, and end there."""
    run_step, callgrind = OutOfMemory.run_step, Callgrind()
    begun = 0

    def enter(*given: Any) -> Any:
        nonlocal begun
        begun += 1
        if begun == 2:  # the first makes what all others use
            callgrind.start()
        if begun == steps + 2:
            callgrind.stop()
            os._exit(0)
        return run_step(*given)

    setattr(OutOfMemory, "run_step", enter)  # noqa: B010 - mypy takes no method of another shape


def take_turns(turns: Turns) -> None:
    """Have ``turns`` hear of each step, and of the process that sends the run."""
    run_step, yield_to_others = OutOfMemory.run_step, sidecars._yield_to_others

    def enter(*given: Any) -> Any:
        turns.enter()
        return run_step(*given)

    def take(pid: int) -> None:
        yield_to_others(pid)
        turns.process = psutil.Process(pid)

    sidecars._yield_to_others = take
    setattr(OutOfMemory, "run_step", enter)  # noqa: B010 - likewise


def main(steps: str, preset: str, workspace: str, tracked: str, *overrides: str) -> None:
    """Run, and print what was found; ``steps``: so many are counted, "" for steps in turn."""
    begin, turns, took = vars(run_writer)["start_sidecar"], Turns(), list[float]()

    def start(*given: Any) -> None:
        began = time.thread_time()
        begin(*given)
        took.append(time.thread_time() - began)

    vars(run_writer)["start_sidecar"] = start
    if steps:
        count(int(steps))
    else:
        take_turns(turns)

    def note(folder: RunFolder) -> None:
        turns.folder = folder

    began = time.thread_time()
    record = start_run(
        load_preset(preset, overrides), Path(workspace), Hooks(trackers=cast(Any, tuple(tracked.split())), started=note)
    )
    if turns.process is not None:
        turns.process.send_signal(signal.SIGCONT)
    found = {"begin": took[0], "steps": record.step, "folder": record.folder, "cpu": time.thread_time() - began}
    print(json.dumps(found | {"turns": turns.steps, "others": turns.others}))


if __name__ == "__main__":
    main(*sys.argv[1:])
