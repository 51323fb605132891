"""``python -m training export``: a trained model for use elsewhere."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from training.cli.evaluate import evaluate_given
from training.cli.options import load_given, workspace_of
from training.console import Console
from training.errors import InputError
from training.events import PhaseChanged
from training.predictions.probabilities import find_temperature, find_thresholds
from training.protocol.answers import ExportResult
from training.runs.cli_consent import trust_resume, trust_run
from training.runs.export_place import refuse_taken
from training.runs.folder import RunFolder
from training.runs.workspace import find_checkpoint
from training.streams import print_json, say
from training.system.untrusted import escape_unprintable

Chosen = TypeVar("Chosen")
_EXAMPLES = {"--temperature": "1.5", "--threshold": "0.3"}


def export(arguments: argparse.Namespace) -> int:
    """Write it; returns the exit code."""
    refuse_taken(arguments.to, arguments.out)  # before libraries are loaded for seconds
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
    from training.export import Choices, export_checkpoint

    console = Console()

    def report(text: str, fraction: float | None) -> None:
        console.event(PhaseChanged(phase=text, fraction=fraction))

    arguments.on = "validation"  # which "auto" evaluates, where that was not done before
    evaluate = partial(evaluate_given, arguments, checkpoint)
    temperature, threshold = arguments.temperature, arguments.threshold
    choices = Choices(
        _choose("--temperature", temperature, lambda: find_temperature(evaluate()), _single),
        _choose("--threshold", threshold, lambda: find_thresholds(evaluate()), tuple),
        arguments.quantize or "",
    )
    with _tell_folders(arguments.out):
        try:
            result = export_checkpoint(
                checkpoint, arguments.to, arguments.out, arguments.large_data, say, choices, report
            )
        finally:
            console.clear()
    return _tell(arguments, result)


def _choose(
    option: str, given: str | None, find: Callable[[], Chosen], take: Callable[[list[float]], Chosen]
) -> Callable[[], Chosen] | None:
    """What an option says: "auto", a number, or several with commas between them."""
    if given is None:
        return None
    if given == "auto":
        return find
    try:
        chosen = take([float(each) for each in given.split(",")])
    except ValueError:
        raise InputError(f'{option} {given}: must be a number, for example {_EXAMPLES[option]}, or "auto".') from None
    return lambda: chosen


def _single(numbers: list[float]) -> float:
    (number,) = numbers
    return number


def _export_config(arguments: argparse.Namespace) -> int:
    """A short script needs no weights."""
    for option in ("temperature", "threshold", "quantize"):
        if getattr(arguments, option) is not None:
            raise InputError(f"--{option}: a {arguments.to} trains a model and holds none; leave it out.")
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
