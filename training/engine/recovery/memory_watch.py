"""Whether the computer's memory will last: a look now and then while a run works, and one back at a run that vanished.

A system that runs out of memory does not say so: it kills a process, mostly the largest. So it has to be seen coming.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

import psutil

from training.engine.recovery.memory import count_saved_bytes, format_settings, keep_steps, propose_smaller_batches
from training.engine.session import Session
from training.errors import LOST_PICTURES, format_bytes
from training.events import Finding, inform
from training.findings.machine import LOW
from training.runs.folder import RunFolder
from training.runs.records.history import History
from training.runs.records.series import FLUSH_ROW, read_series
from training.system.host_memory import HostMemory, forget_peak, host_memory, peak_resident

LOOK_SECONDS = 3.0
LOW_SHARE = 0.05
LOW_BYTES = 2 * 10**9  # on a large machine a twentieth is a lot
TREND_SECONDS = 30.0
TREND_LOOKS = 5
GONE_IN_SECONDS = 60.0
TREND_SHARE = 0.5  # while more than this is free, a run may still be settling in
NEARLY_FULL = 0.8  # share of all memory that a vanished run must have held to be told that it was too much

_WARNS = "Memory is"  # how the titles of the watch's own warnings begin


class Look(NamedTuple):
    """One moment: seconds, free bytes, bytes held by this process."""

    time: float
    free: int
    held: int


class MemoryWatch:
    """Warns once before checkpoints that will not fit, once when memory is low, once when it shrinks too fast."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._process = psutil.Process()
        self._looks: deque[Look] = deque()
        self._due = 0.0
        self._told: set[str] = set()
        forget_peak()  # that of the preparations

    def look(self) -> list[Finding]:
        """What to warn of now, one thing at a time. To be called often: it looks every few seconds and costs 0.2 ms then."""
        now = time.monotonic()
        if now < self._due:
            return []
        self._due = now + LOOK_SECONDS
        host = host_memory()
        self._looks.append(Look(now, host.available, self._process.memory_info().rss))
        while now - self._looks[0].time > TREND_SECONDS:
            self._looks.popleft()
        for name, check in (("saving", self._saving), ("low", self._low), ("shrinking", self._shrinking)):
            if name not in self._told and (found := check(host)):
                self._told.add(name)
                return [found]
        return []

    def _saving(self, host: HostMemory) -> Finding | None:
        """The first checkpoint is a copy, made while the steps go on and need what they needed so far."""
        self._told.add("saving")  # the first look comes after the first steps, when all that is saved exists
        copies = count_saved_bytes(self._session)  # one at a time: the next takes the place of this one
        step = max(peak_resident() - self._looks[-1].held, 0) if self._session.device.type == "cpu" else 0
        if copies + step <= host.available:
            return None
        return self._warning(
            f"Saving will need {format_bytes(copies)} for copies of the weights and the optimizer's numbers, besides "
            f"{format_bytes(step)} for a step, but {format_bytes(host.available)} of the {format_bytes(host.total)} {host.bound} "
            "are free. The system may kill the run without a message."
        )

    def _low(self, host: HostMemory) -> Finding | None:
        if host.available >= min(LOW_SHARE * host.total, LOW_BYTES):
            return None
        return self._warning(
            f"{_WARNS} nearly full: {format_bytes(host.available)} of the {format_bytes(host.total)} {host.bound} are free, and "
            f"this run holds {format_bytes(self._looks[-1].held)}. The system may kill it without a message."
        )

    def _shrinking(self, host: HostMemory) -> Finding | None:
        first, last = self._looks[0], self._looks[-1]
        lost, seconds = first.free - last.free, last.time - first.time
        if len(self._looks) < TREND_LOOKS or lost <= 0 or host.available > TREND_SHARE * host.total:
            return None
        left = last.free / (lost / seconds)
        if left > GONE_IN_SECONDS:
            return None
        grown = last.held - first.held
        who = "this run" if 2 * grown > lost else "mostly other programs"
        return self._warning(
            f"{_WARNS} running out: {format_bytes(lost)} were taken in {seconds:.0f} seconds ({who}), and the "
            f"{format_bytes(last.free)} that are left will be gone in about {left:.0f} seconds."
        )

    def _warning(self, title: str) -> Finding:
        fix = self._fix()
        settings = f" with {format_settings(fix)}" if fix else ""
        return LOW.find(
            "warning",
            title,
            f"Close other programs, or stop the run, which keeps everything, and resume it{settings}.",
            step=self._session.progress.step,
            fix=fix,
        )

    def _fix(self) -> Mapping[str, int | str]:
        """The settings that free most of the computer's memory, those first that change no result."""
        session = self._session
        batches = session.data.report.batches
        on_host = session.device.type == "cpu"
        if on_host and batches.mode == "resident" and 4 * batches.bytes > self._looks[-1].held:
            return {"loader.mode": "streamed"}
        if batches.workers > 1:
            return {"loader.workers": batches.workers // 2}
        if not on_host:
            return {}
        return keep_steps(propose_smaller_batches(session), session)


def explain_vanished(folder: RunFolder, history: History, session: Session) -> Finding | None:
    """What to tell of the attempt before ``session``'s, when it ended without a final event, and held nearly all memory at
    its last look or read its images from a file mapped into memory; None for one that ended in order, or of which nothing
    is known.
    """
    if not history.attempts or history.final is not None:
        return None
    rows = read_series(folder.telemetry_file, FLUSH_ROW)
    since = history.attempts[-1].time
    rows = rows[rows["time"] >= since]
    if not len(rows):
        return None
    held, total = float(rows["memory_mb"][-1]) * 2**20, host_memory().total
    warned = [item for item in history.findings if item.time >= since and item.title.startswith(_WARNS)]
    title = f"The process of the attempt before exited unexpectedly after step {int(rows['step'][-1]):,}"
    if held < NEARLY_FULL * total and not warned:
        if session.data.source.reading != "cache" or session.data.report.batches.mode != "streamed":
            return None
        return inform(
            f"{title}.",
            f"Where the system spoke of a bus error, it was probably a file of the {LOST_PICTURES}",
            step=session.progress.step,
            fix={"loader.cache": "off"},
        )
    when = time.strftime("%H:%M:%S", time.localtime(float(rows["time"][-1])))
    return LOW.find(
        "warning",
        f"{title}; at its last look, at {when}, memory was nearly full: it held {format_bytes(held)}, of "
        f"{format_bytes(total)} in all.",
        "The system ends programs when memory runs out. "
        + (
            warned[-1].advice if warned else "Close other programs, or stop the run and resume it with smaller batches."
        ),
        step=session.progress.step,
        fix=warned[-1].fix if warned else {},
    )
