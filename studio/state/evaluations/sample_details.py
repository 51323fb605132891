"""All that is known of one sample: what was answered with which probability, and the values that it has in its file."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from studio.state.evaluations.ranked_items import rank_items
from studio.state.formats import format_number, format_percent
from training.facts import IGNORED
from training.predictions import Evaluation
from training.predictions.sample_columns import describe_samples
from training.statistics.logits import squash
from training.system.token_text import make_decoder

Detail = tuple[str, str]


def make_details(evaluation: Evaluation) -> Callable[[int], list[Detail]]:
    """What gives of each row of ``evaluation`` titles with what they say. Raises InputError where a file cannot be read."""
    columns = describe_samples(evaluation, len(evaluation.record.names))[1:]  # its name stands above

    def list_details(row: int) -> list[Detail]:
        found = [(column.title, column.describe(row)) for column in columns]
        return [*found, *_list_more(evaluation, row), *_list_cells(evaluation, row)]

    return list_details


def _list_more(evaluation: Evaluation, row: int) -> Iterator[Detail]:
    """What takes too much room in a table."""
    match evaluation.record.target:
        case "class" if evaluation.has("scores"):
            yield from _list_classes(evaluation, row)
        case "labels":
            chances = squash(evaluation.column("scores")[row].astype(np.float64))
            for name, chance in zip(evaluation.record.names, chances.tolist(), strict=True):
                yield f"Probability of “{name}”", format_percent(chance)
        case "tokens":
            decode = make_decoder(evaluation.record.names)
            target, answers = evaluation.column("target")[row], evaluation.column("prediction")[row]
            counted = target != IGNORED
            yield "True text", decode(target[counted].tolist())
            yield "Likeliest next tokens", decode(answers[counted].tolist())
        case "ranks":
            for each in rank_items(evaluation, row):
                yield f"Item {each.item:,}", f"relevance {format_number(each.rank)}, score {format_number(each.score)}"


def _list_classes(evaluation: Evaluation, row: int) -> Iterator[Detail]:
    """The likeliest first."""
    scores, names = evaluation.column("scores")[row].astype(np.float64), evaluation.record.names
    classes = evaluation.column("classes")[row] if evaluation.has("classes") else np.arange(len(scores))
    chances = np.exp(scores - float(evaluation.column("log_sum")[row]))
    for place in np.argsort(-scores, kind="stable").tolist():
        yield f"Probability of “{names[int(classes[place])]}”", format_percent(float(chances[place]))


def _list_cells(evaluation: Evaluation, row: int) -> Iterator[Detail]:
    rows = evaluation.rows
    if rows is not None:
        for name, value in rows.row(row, named=True).items():
            yield name, "(missing)" if value is None else str(value)
