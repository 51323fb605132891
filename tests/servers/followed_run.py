"""A run in a process of its own that is sent to trackers, killed and resumed, and what the trackers should have of it then."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from tests.training.tiny import tiny
from training.config import save_config
from training.runs.folder import RunFolder
from training.runs.records.history import read_history
from training.runs.records.series import STEP_ROW, count_rows, read_series
from training.sidecars.process import is_sending
from training.tracking.status import TrackerStatus, read_tracker_statuses

PATIENCE = 240.0  # seconds, for a crowded machine


def wait_until(happened: Callable[[], object], what: str) -> None:
    """Look again and again; fail naming ``what`` when it does not happen."""
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end, f"never: {what}"
        time.sleep(0.05)


class FollowedRun:
    """Steps of some milliseconds, and more of them than anybody waits for: it ends when it is told to."""

    def __init__(self, place: Path, *trackers: str) -> None:
        wide = ("dataset.samples=3000", "loop.batch_size=256", "model.hidden=[768, 768]", "checkpoints.every_steps=7")
        save_config(tiny(*wide, "loop.epochs=100000"), place / "wide.toml")
        self._track = [word for name in trackers for word in ("--track", name)]
        self._workspace = place / "workspace"
        self._begin("run", str(place / "wide.toml"))
        wait_until(lambda: [*self._workspace.glob("runs/*/config.toml")], "the run's folder")
        (found,) = self._workspace.glob("runs/*")
        self.folder = RunFolder(found)

    def _begin(self, *words: str) -> None:
        command = [sys.executable, "-m", "training", *words, *self._track, "--workspace", str(self._workspace)]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)

    @property
    def steps(self) -> int:
        """How many it has made."""
        return count_rows(self.folder.series_file, STEP_ROW)

    def wait_for(self, steps: int) -> None:
        """Until it has made so many."""
        wait_until(lambda: self.steps >= steps or self._process.poll() is not None, f"step {steps}")
        assert self._process.poll() is None, "the run ended"

    def kill(self, sidecar: bool = False) -> None:
        """``kill -9``, and of the process that sends the run too."""
        others = psutil.Process(self._process.pid).children(recursive=True) if sidecar else []
        self._process.kill()
        for other in others:
            if "track" in other.cmdline():
                other.kill()
        self._process.wait()

    def resume(self) -> None:
        """Go on with it."""
        self._begin("resume", str(self.folder.path))

    def stop(self) -> int:
        """Ctrl+C; returns the exit code."""
        os.kill(self._process.pid, signal.SIGINT)
        return self._process.wait(PATIENCE)

    def wait_for_delivery(self) -> None:
        """Until the process that sends it has ended."""
        wait_until(lambda: not is_sending(self.folder.tracking), "the end of the process that sends the run")

    def status(self, tracker: str) -> TrackerStatus | None:
        """What is told of ``tracker``, None before it was begun with."""
        return next((each for each in read_tracker_statuses(self.folder) if each.tracker == tracker), None)

    def delivered(self, tracker: str) -> int:
        """How many steps are noted as sent."""
        status = self.status(tracker)
        return status.delivered if status else 0


def expected_points(folder: RunFolder) -> dict[tuple[str, int], float]:
    """Every number by its name and step, from the run's own files."""
    rows, history = read_series(folder.series_file), read_history(folder.events_file)
    found = {
        (f"train/{name}", int(row["step"])): float(row[name]) for row in rows for name in ("loss", "lr", "grad_norm")
    }
    for item in history.validations:
        found |= {(name, item.step): value for name, value in item.metrics.items()}
    for epoch in history.epochs:
        found["epoch/train_loss", epoch.step] = epoch.metrics["train/loss"]
    return found
