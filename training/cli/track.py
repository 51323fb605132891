"""``python -m training track RUN``: a run sent to trackers, as far as they do not have it yet."""

from __future__ import annotations

import argparse
from contextlib import suppress

from training.cli.options import workspace_of
from training.runs.workspace import find_run
from training.streams import say
from training.tracking.cursor import describe_deliveries
from training.tracking.sidecar import PATIENCE_AFTER_RUN, track

_PATIENCE = 20.0  # of a person


def track_run(arguments: argparse.Namespace) -> int:
    """Returns the exit code: 0 where all is there."""
    folder = find_run(arguments.run, workspace_of(arguments))
    follow: bool = arguments.follow
    if not follow:
        done = track(folder, arguments.to, False, say, _PATIENCE)
        return 0 if done else 1
    lines: list[str] = []
    try:
        done = track(folder, arguments.to, True, lines.append, PATIENCE_AFTER_RUN)
    finally:
        told = "\n".join([*lines, *describe_deliveries(folder)]) + "\n"
        with suppress(OSError):  # the run's folder is gone, or full
            (folder.tracking / "log.txt").write_text(told, encoding="utf-8")
    return 0 if done else 1
