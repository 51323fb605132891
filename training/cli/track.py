"""``python -m training track RUN``: a run sent to trackers, as far as they do not have it yet."""

from __future__ import annotations

import argparse

from training.cli.options import workspace_of
from training.runs.workspace import find_run
from training.sidecars.process import run_sidecar
from training.tracking.cursor import describe_deliveries
from training.tracking.sidecar import track


def track_run(arguments: argparse.Namespace) -> int:
    """Returns the exit code: 0 where all is there."""
    folder = find_run(arguments.run, workspace_of(arguments))
    follow: bool = arguments.follow
    return run_sidecar(
        folder.tracking,
        follow,
        lambda say, patience: track(folder, arguments.to, follow, say, patience),
        lambda: describe_deliveries(folder),
    )
