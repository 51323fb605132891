"""``python -m training export``: a trained model for use elsewhere."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from training.cli.evaluate import evaluate_given
from training.cli.options import load_given, workspace_of
from training.errors import InputError
from training.predictions.probabilities import find_temperature
from training.protocol.answers import ExportResult
from training.runs.cli_consent import trust_resume, trust_run
from training.runs.folder import RunFolder
from training.runs.workspace import find_checkpoint
from training.streams import print_json, say
from training.system.untrusted import escape_unprintable


def export(arguments: argparse.Namespace) -> int:
    """Write it; returns the exit code."""
    given: str = arguments.checkpoint
    if given.startswith("preset:") or given.endswith(".toml"):
        if arguments.to in ("tutorial", "accelerate"):
            return _export_config(arguments)
        raise InputError(
            f"{given}: a configuration holds no weights yet, which --to {arguments.to} needs; train it and give the run, or "
            "choose --to tutorial or --to accelerate."
        )
    if arguments.overrides:
        raise InputError(
            "--set: changes a configuration file or preset, but a run is exported as it was; leave --set out."
        )
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

    with _tell_folders(arguments.out):
        divisor = _find_temperature(arguments, checkpoint)
        result = export_checkpoint(checkpoint, arguments.to, arguments.out, arguments.large_data, say, divisor)
    return _tell(arguments, result)


def _find_temperature(arguments: argparse.Namespace, checkpoint: Path) -> Callable[[], float] | None:
    """What --temperature says; "auto" evaluates the checkpoint on the validation part, where that was not done before."""
    given: str | None = arguments.temperature
    if given is None:
        return None
    if given == "auto":
        arguments.on = "validation"
        return lambda: find_temperature(evaluate_given(arguments, checkpoint))
    try:
        number = float(given)
    except ValueError:
        raise InputError(f'--temperature {given}: must be a number, for example 1.5, or "auto".') from None
    return lambda: number


def _export_config(arguments: argparse.Namespace) -> int:
    """A short script needs no weights."""
    if arguments.temperature is not None:
        raise InputError(f"--temperature: a {arguments.to} trains a model and holds none; leave it out.")
    arguments.config = arguments.checkpoint
    config = load_given(arguments)
    from training.export.short_script import export_short_script

    with _tell_folders(arguments.out):
        result = export_short_script(config, arguments.to, arguments.out)
    return _tell(arguments, result)


@contextmanager
def _tell_folders(out: Path) -> Iterator[None]:
    """Say which folder above ``out`` was made on the way: its name may have been mistyped."""
    missing = [folder for folder in out.absolute().parents if not folder.exists()]
    yield
    if missing:
        say(f"The folder {escape_unprintable(str(missing[-1]))} was not there and was made.")


def _tell(arguments: argparse.Namespace, result: ExportResult) -> int:
    say(result.summary)
    if arguments.json:
        print_json(result.model_dump(mode="json"))
    return 0
