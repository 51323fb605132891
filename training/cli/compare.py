"""``python -m training compare``: which of several runs is better, on the same samples."""

from __future__ import annotations

import argparse
from pathlib import Path

from pydantic import JsonValue

from training.cli.evaluate import evaluate_given
from training.cli.options import workspace_of
from training.errors import InputError, pluralize
from training.metric_names import show_metric, title_of
from training.runs.workspace import find_checkpoint
from training.streams import print_json, say


def compare(arguments: argparse.Namespace) -> int:
    """Evaluate each where it was not yet, and compare the first with every other; returns the exit code: 2 where they have no metric in common."""
    given: list[str] = arguments.runs
    if len(given) < 2:
        raise InputError("compare: needs two runs or checkpoints at least; name another.")
    checkpoints = []
    for text in given:
        checkpoint, instead = find_checkpoint(text, workspace_of(arguments))
        if instead:
            say(instead)
        checkpoints.append(checkpoint)
    from training.evaluation.compare import compare_evaluations

    evaluations = [evaluate_given(arguments, checkpoint) for checkpoint in checkpoints]
    called = _call(given, checkpoints)
    told: list[JsonValue] = []
    for name, other in zip(called[1:], evaluations[1:], strict=True):
        found = compare_evaluations(evaluations[0], other, (called[0], name))
        say(f"{called[0]} and {name} on {pluralize(found.samples, 'sample')} of {other.record.on}:")
        for note in found.notes:
            say(f"  {note}")
        for each in found.differences:
            one, second = (show_metric(each.metric, value) for value in each.values)
            say(f"  {title_of(each.metric)} {one} and {second}: {each.sentence}")
            interval = each.comparison.difference
            told.append(
                {
                    "first": each.first,
                    "second": each.second,
                    "samples": found.samples,
                    "metric": each.metric,
                    "values": list(each.values),
                    "difference": interval.value,
                    "low": interval.low,
                    "high": interval.high,
                    "chance": each.comparison.chance,
                    "differs": each.comparison.differs,
                    "sentence": each.sentence,
                }
            )
    if arguments.json:
        runs: list[JsonValue] = [
            {
                "called": name,
                "run": found.record.run,
                "checkpoint": found.record.checkpoint,
                "folder": str(found.folder),
                "on": found.record.on,
                "metrics": {key: each.model_dump(mode="json") for key, each in found.record.metrics.items()},
            }
            for name, found in zip(called, evaluations, strict=True)
        ]
        print_json({"runs": runs, "comparisons": told})
    return 0 if told else InputError.exit_code


def _call(given: list[str], checkpoints: list[Path]) -> list[str]:
    """What each is called: as it was typed, where that tells them apart."""
    names = [Path(text).name if Path(text).exists() else text for text in given]
    if len(set(names)) == len(names):
        return names
    names = [f"{path.parent.parent.name} {path.name}" for path in checkpoints]
    return names if len(set(names)) == len(names) else [f"{name} ({number})" for number, name in enumerate(names, 1)]
