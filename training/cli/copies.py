"""``python -m training copy RUN`` and ``fetch ADDRESS``: a run copied elsewhere, and brought back."""

from __future__ import annotations

import argparse
import shlex

from training.cli.options import workspace_of
from training.cli.trial import tell_test
from training.copies.account import describe_copy, read_account
from training.copies.connection import try_place
from training.copies.fetch import fetch
from training.copies.sidecar import copy
from training.errors import InputError
from training.runs.workspace import find_run
from training.sidecars.process import run_sidecar
from training.streams import print_json, say


def copy_run(arguments: argparse.Namespace) -> int:
    """Returns the exit code: 0 where all is there."""
    if (arguments.run is None) != (arguments.test is not None):
        raise InputError("Name a run to copy, or with --test a place to try; see python -m training copy --help.")
    if arguments.test is not None:
        return tell_test(lambda: try_place(arguments.test), arguments.json)
    folder = find_run(arguments.run, workspace_of(arguments))
    follow: bool = arguments.follow
    code = run_sidecar(
        folder.copies,
        follow,
        lambda say, patience: copy(folder, arguments.to, follow, say, patience),
        lambda: describe_copy(folder),
    )
    if arguments.json:
        print_json(read_account(folder).model_dump(include={"to", "checkpoints", "step", "ended", "problem"}))
    return code


def fetch_run(arguments: argparse.Namespace) -> int:
    """Returns the exit code."""
    folder = fetch(arguments.address, workspace_of(arguments), say)
    say(f"Fetched into {folder.path}; go on with: python -m training resume {shlex.quote(str(folder.path))}")
    if arguments.json:
        print_json({"run": folder.id, "folder": str(folder.path)})
    return 0
