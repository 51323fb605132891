"""``python -m training lab``: what it takes from the command line, what it says, how it ends."""

from __future__ import annotations

import argparse
import math
import shlex
from pathlib import Path

from training.errors import InputError
from training.runs.workspace import default_workspace
from training.streams import print_json, say
from training.typed_paths import parse_path

FOLDER = "laboratory"


def run_lab(arguments: argparse.Namespace) -> int:
    """Run what is missing and write the report; returns 0, 1 when a step failed, 130 when it was stopped."""
    share: float = arguments.share
    if not 0.0 < share <= 1.0 or not math.isfinite(share):
        raise InputError(f"--share {share:g}: must be greater than 0 and at most 1, for example 0.1.")
    workspace = parse_path(arguments.workspace).absolute() if arguments.workspace else default_workspace()
    out = parse_path(arguments.out).absolute() if arguments.out else workspace / FOLDER
    data = _data_folder(arguments.data)
    if arguments.wrong_order and (data is not None or arguments.overrides or share != 1.0 or arguments.compare):
        raise InputError("--wrong-order: draws its own points; leave out --data, --share, --compare and --set.")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {out}: cannot be made ({error.strerror or error}); choose another folder.") from error
    if arguments.wrong_order:
        from training.laboratory.wrong_order.report import show_wrong_orders

        return show_wrong_orders(out, arguments)
    from training.laboratory.child import Interrupt, count_signals
    from training.laboratory.runner import Laboratory

    interrupt = Interrupt()
    laboratory = Laboratory(
        workspace, out, data, share, arguments.overrides, _command(arguments), arguments.compare, say, interrupt
    )
    with count_signals(interrupt):
        outcome = laboratory.run()
    say("")
    for line in outcome.lines:
        say(line)
    if arguments.json:
        print_json(outcome.record)
    return outcome.code


def _data_folder(text: str | None) -> Path | None:
    if not text:
        return None
    folder = parse_path(text).absolute()
    if not folder.is_dir():
        what = (
            "is a file; choose the folder that holds it" if folder.is_file() else "does not exist; check the spelling"
        )
        raise InputError(f"--data {folder}: {what}.")
    return folder


def _command(arguments: argparse.Namespace) -> str:
    """What was asked for, as it is typed again."""
    words: list[str] = ["python", "-m", "training", "lab"]
    for name in ("data", "out", "workspace"):
        if value := getattr(arguments, name):
            words += [f"--{name}", value]
    if arguments.share != 1.0:
        words += ["--share", f"{arguments.share:g}"]
    if arguments.compare:
        words.append("--compare")
    for override in arguments.overrides:
        words += ["--set", override]
    return shlex.join(words)
