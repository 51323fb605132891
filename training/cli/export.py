"""``python -m training export``: a trained model for use elsewhere."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from training.cli.options import add_workspace, workspace_of
from training.loading import expect_torch
from training.runs.folder import RunFolder
from training.runs.trust import add_trust, trust_resume, trust_run
from training.runs.workspace import find_checkpoint
from training.streams import print_json, say


def add_export(commands: Any) -> None:
    """Put the command into the parser's ``commands``."""
    export = commands.add_parser("export", help="write a checkpoint's model for use elsewhere")
    export.add_argument("checkpoint", metavar="CHECKPOINT_DIR", help="a checkpoint, or a run (its best one)")
    export.add_argument("--to", required=True, choices=("safetensors", "onnx", "torch-export", "script"))
    export.add_argument("--out", required=True, type=Path, metavar="PATH")
    export.add_argument("--large-data", action="store_true", help="let the samples beside a script take more than 2 GB")
    add_trust(export)
    add_workspace(export)
    export.set_defaults(command=_export)


def _export(arguments: argparse.Namespace) -> int:
    expect_torch()
    from training.export import export_checkpoint

    checkpoint, instead = find_checkpoint(arguments.checkpoint, workspace_of(arguments))
    if instead:
        say(instead)
    if arguments.trust:
        folder = RunFolder(checkpoint.absolute().parent.parent)
        if arguments.to == "script":
            trust_resume(folder, ())  # a teacher goes with it
        else:
            trust_run(folder)
    result = export_checkpoint(checkpoint, arguments.to, arguments.out, arguments.large_data, say)
    say(result["summary"])
    if arguments.json:
        print_json(result)
    return 0
