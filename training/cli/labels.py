"""``python -m training labels``: which labels of a run's data are probably wrong."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

from training.cli.evaluate import evaluate_given
from training.cli.options import workspace_of
from training.console import Console
from training.errors import pluralize
from training.events import PhaseChanged
from training.labels.progress import expect_time
from training.predictions.suspicious import FILE, SuspiciousLabels, find_suspicious_labels
from training.runs.cli_consent import trust_resume
from training.runs.folder import RunFolder
from training.runs.workspace import find_checkpoint, find_run
from training.streams import print_json, say
from training.system.held_input import call_at_its_end

_SHOWN = 20


def find_labels(arguments: argparse.Namespace) -> int:
    """Look for them, and list them; returns the exit code, 130 where it was stopped before its end."""
    run = find_run(arguments.run, workspace_of(arguments))
    found = _judge_training_part(arguments, run) if arguments.on == "train" else _judge_part(arguments, run)
    if found is None:
        return 130
    for line in _describe(found):
        say(line)
    if found.folds:
        say(f"All of them: {run.labels / FILE}")
    if arguments.json:
        print_json({"run": run.id, **found.model_dump(mode="json")})
    return 0


def _judge_part(arguments: argparse.Namespace, run: RunFolder) -> SuspiciousLabels:
    checkpoint, instead = find_checkpoint(str(run.path), run.path.parent.parent)
    if instead:
        say(instead)
    return find_suspicious_labels(evaluate_given(arguments, checkpoint))


def _judge_training_part(arguments: argparse.Namespace, run: RunFolder) -> SuspiciousLabels | None:
    expected = expect_time(run, arguments.folds)
    find_checkpoint(str(run.path), run.path.parent.parent)  # a run without one is told before torch is loaded
    say(expected.words)
    if arguments.trust:
        trust_resume(run, ())
    from training.labels.runner import judge_training_part
    from training.laboratory.child import Interrupt, count_signals

    interrupt, console = Interrupt(), Console()
    if arguments.while_held:
        call_at_its_end(interrupt.ask)

    def report(text: str, fraction: float | None) -> None:
        console.event(PhaseChanged(phase=text, fraction=fraction))

    with count_signals(interrupt):
        try:
            found = judge_training_part(run, arguments.folds, say, report, interrupt)
        finally:
            console.clear()
    if found is None:
        words = ["python", "-m", "training", "labels", str(run.path), "--on", "train", "--folds", str(arguments.folds)]
        say(f"Stopped; what was trained is kept. Go on with: {shlex.join(words)}")
    return found


def _describe(found: SuspiciousLabels) -> Iterator[str]:
    part = f"the {found.on} part" if found.on != "train" else f"the training part, by {found.folds} runs"
    yield f"{len(found.found):,} suspicious among the {pluralize(found.samples, 'label')} of {part}"
    yield from found.notes
    for each in found.found[:_SHOWN]:
        yield f"  {each.number:>8}  {each.name}: labeled {each.given}, probably {each.suggested} ({each.score:.3f})"
    if len(found.found) > _SHOWN:
        yield f"  and {len(found.found) - _SHOWN:,} more"
    if found.found:
        yield "Look at them; those that are wrong go on an exclude list: python -m training exclude RUN NUMBER... --list FILE"
