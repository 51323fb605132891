"""``python -m training track RUN``: a run sent to trackers, as far as they do not have it yet."""

from __future__ import annotations

import argparse
import json
import sys

from training.cli.options import workspace_of
from training.cli.trial import tell_test
from training.errors import InputError
from training.runs.workspace import find_run
from training.sidecars.process import run_sidecar
from training.streams import print_json, write_out
from training.system.untrusted import escape_unprintable
from training.tracking.connection import try_connection
from training.tracking.settings import Name, load_tracker_settings, parse_tracker_settings
from training.tracking.sidecar import track
from training.tracking.status import describe_trackers, record_trackers


def track_run(arguments: argparse.Namespace) -> int:
    """Returns the exit code: 0 where all is there."""
    if (arguments.run is None) != (arguments.test is not None):
        raise InputError("Name a run to send, or with --test a tracker to ask; see python -m training track --help.")
    if arguments.test is not None:
        return tell_test(
            lambda: _test(arguments.test, arguments.settings == "-"), arguments.json, tracker=arguments.test
        )
    folder, follow, code = find_run(arguments.run, workspace_of(arguments)), arguments.follow, 0
    if not arguments.status:
        code = run_sidecar(
            folder.tracking,
            follow,
            lambda say, patience: track(folder, arguments.to, follow, say, patience),
            lambda: describe_trackers(folder),
        )
    elif not arguments.json:
        lines = describe_trackers(folder) or ["The run is sent to no tracker."]
        write_out("".join(f"{escape_unprintable(line)}\n" for line in lines))
    if arguments.json:
        print_json(record_trackers(folder))
    return code


def _test(tracker: Name, from_pipe: bool) -> str:
    """``from_pipe``: as a form says it that is not saved yet."""
    said = parse_tracker_settings(json.load(sys.stdin)) if from_pipe else load_tracker_settings()
    return try_connection(tracker, said)
