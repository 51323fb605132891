"""``python -m training report``: runs as one page."""

from __future__ import annotations

import argparse
import base64
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from training.cli.evaluate import evaluate_given
from training.cli.options import workspace_of
from training.embedded_config import is_report
from training.errors import InputError, TrainingError, format_bytes, pluralize
from training.metric_names import title_of
from training.predictions import Evaluation
from training.predictions.record import NAMES
from training.protocol.answers import Sample
from training.report.facts import RunFacts, choose_common, find_facts
from training.report.report import MOST_RUNS, Comparison, write_report
from training.runs.workspace import find_checkpoint
from training.streams import print_json, say

FILE = "report.html"


def report(arguments: argparse.Namespace) -> int:
    """Write it; returns the exit code."""
    given, workspace = list(arguments.runs), workspace_of(arguments)
    if len(given) > MOST_RUNS:
        raise InputError(f"report: these are {len(given)} runs, and {MOST_RUNS} are the most; leave some out.")
    if arguments.out is None and len(given) > 1:
        raise InputError("report: a comparison belongs to no run's folder; say where it goes with --out FILE.html.")
    if arguments.out is not None and not is_report(arguments.out):
        raise InputError(f"--out {arguments.out}: must end in .html.")
    if arguments.evaluate:
        arguments.on = "validation"
        for target in given:
            evaluate_given(arguments, find_checkpoint(target, workspace)[0])
    runs = [find_facts(target, workspace) for target in given]
    out = arguments.out or runs[0].folder.path / FILE
    size = write_report(out, runs, read_images if len(runs) == 1 else None, compare_all(runs))
    say(
        f"The report of {runs[0].name if len(runs) == 1 else pluralize(len(runs), 'run')} is {out} ({format_bytes(size)})."
    )
    if arguments.json:
        print_json({"report": str(out), "bytes": size, "runs": [run.folder.id for run in runs]})
    return 0


def compare_all(runs: Sequence[RunFacts]) -> list[Comparison]:
    """The first with every other, where both were evaluated on the same samples."""
    chief = choose_common(runs)
    if len(runs) < 2 or chief[0] is None:
        return []
    from training.evaluation.compare import compare_evaluations

    found = []
    for run, other in zip(runs[1:], chief[1:], strict=True):
        if other is None:
            continue
        names = runs[0].name, run.name
        try:
            compared = compare_evaluations(chief[0], other, names)
        except InputError as error:
            sentences: tuple[str, ...] = (str(error),)
        else:
            sentences = (
                *compared.notes,
                *(f"{title_of(each.metric)}: {each.sentence}" for each in compared.differences),
            )
        found.append(Comparison(f"{names[0]} and {names[1]}", sentences))
    return found


def read_images(evaluation: Evaluation, rows: Sequence[int]) -> Mapping[int, NDArray[np.uint8]]:
    """The images of some rows as the data has them; none where the data is not there any more."""
    from training.data.browse import Browser
    from training.protocol.messages import ReadSamples

    numbers = [int(evaluation.column("index")[row]) for row in rows]
    names = [str(evaluation.names[row]) for row in rows] if NAMES in evaluation.record.files else []
    asked = ReadSamples(
        run=evaluation.folder.parent.parent, on=evaluation.record.on, numbers=tuple(numbers), names=tuple(names)
    )
    try:
        page = Browser(keeps=False).read_samples(asked)
    except TrainingError as error:
        say(f"The worst samples are listed without their images: {error}")
        return {}
    found = {sample.index: _decode(sample) for sample in page.samples}
    return {row: found[number] for row, number in zip(rows, numbers, strict=True) if number in found}


def _decode(sample: Sample) -> NDArray[np.uint8]:
    pixels = np.frombuffer(base64.b64decode(sample.original_base64), np.uint8)
    return pixels.reshape(sample.height, sample.width, sample.channels)
