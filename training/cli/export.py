"""``python -m training export``: a trained model for use elsewhere."""

from __future__ import annotations

import argparse

from training.cli.options import workspace_of
from training.runs.cli_consent import trust_resume, trust_run
from training.runs.folder import RunFolder
from training.runs.workspace import find_checkpoint
from training.streams import print_json, say


def export(arguments: argparse.Namespace) -> int:
    """Write it; returns the exit code."""
    checkpoint, instead = find_checkpoint(arguments.checkpoint, workspace_of(arguments))
    if instead:
        say(instead)
    if arguments.trust:
        folder = RunFolder(checkpoint.absolute().parent.parent)
        if arguments.to == "script":
            trust_resume(folder, ())  # a teacher goes with it
        else:
            trust_run(folder)
    from training.export import export_checkpoint

    result = export_checkpoint(checkpoint, arguments.to, arguments.out, arguments.large_data, say)
    say(result.summary)
    if arguments.json:
        print_json(result.model_dump(mode="json"))
    return 0
