"""``python -m training predict``: what a trained model says of files, folders, rows and texts."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from training.errors import InputError, pluralize
from training.notebook import load_model
from training.protocol.model_answers import ModelAnswer, Neighbor
from training.streams import print_json, say, write_out
from training.system.untrusted import escape_unprintable

if TYPE_CHECKING:
    from training.answering.model import UsableModel

_SHOWN = 3
_TOLD = 10
"""Samples of which the same is said one by one."""


def predict(arguments: argparse.Namespace) -> int:
    """Tell it, or write it to a file; returns the exit code: 2 where not one sample could be answered, 1 where some could not."""
    from training.answering.answers import answer_samples
    from training.answering.samples import read_samples
    from training.answering.tables import refuse_table, save_mask, write_table

    out: Path | None = arguments.to
    masks: Path | None = arguments.masks
    if out is not None:
        refuse_table(out, arguments.files)
    if masks is not None and not masks.is_dir():
        raise InputError(f"--masks {masks}: there is no such folder; make it first.")
    model = find_and_open(arguments)

    remarks = _Remarks()

    def ask() -> Iterator[ModelAnswer]:
        for answer in answer_samples(model, read_samples(model, arguments.files)):
            remarks.tell(answer)
            if masks is not None and answer.mask is not None:
                save_mask(masks, answer)
            yield answer

    kept = list(ask()) if arguments.json else ()
    if out is not None:
        answered = write_table(out, kept or ask()).answered
        if answered:
            say(f"{pluralize(answered, 'sample')} in {out}.")
    elif arguments.json:
        answered = sum(not answer.refused for answer in kept)
    else:
        answered = sum(map(_write, ask()))
    if arguments.json:
        told = [each.model_dump(mode="json", exclude_defaults=True) for each in kept]
        print_json({"model": str(model.path), "answers": told})
    remarks.end(answered)
    return 2 if not answered else min(remarks.refused, 1)


def _write(answer: ModelAnswer) -> bool:
    """A line of it; returns whether it was answered."""
    if not answer.refused:
        write_out(f"{escape_unprintable(answer.name)}: {describe_answer(answer)}\n")
    return not answer.refused


def find_and_open(arguments: argparse.Namespace) -> UsableModel:
    """The model that was asked for, with its code agreed to where ``--trust`` says so. Raises InputError."""
    return load_model(arguments.checkpoint, workspace=arguments.workspace or None, trust=arguments.trust)


class _Remarks:
    """Tells what could not be answered, and what there is to say beside an answer; the same words of the first samples alone."""

    def __init__(self) -> None:
        self.refused = 0
        self._told = Counter[str]()

    def tell(self, answer: ModelAnswer) -> None:
        self.refused += bool(answer.refused)
        for sentence in filter(None, (answer.refused, *answer.notes)):
            self._told[sentence] += 1
            if self._told[sentence] <= _TOLD:
                say(f"{answer.name}: {sentence}.")

    def end(self, answered: int) -> None:
        """Of how many samples the rest was, and how many of all have no answer."""
        for sentence, count in self._told.items():
            if count > _TOLD:
                say(f"{pluralize(count - _TOLD, 'more sample')}: {sentence}.")
        if answered and self.refused:
            total = pluralize(answered + self.refused, "sample")
            say(f"{self.refused:,} of {total} could not be answered, as told above.")


def _name_neighbor(neighbor: Neighbor) -> str:
    return escape_unprintable(f"{neighbor.name} ({neighbor.of})" if neighbor.of else neighbor.name, 200)


def describe_answer(answer: ModelAnswer) -> str:
    """In a line: the likeliest first."""
    said = []
    if answer.chances:
        shown = ", ".join(
            f"{escape_unprintable(each.name, 60)} {each.probability:.1%}" for each in answer.chances[:_SHOWN]
        )
        said.append(shown)
    for name, chances in answer.chances_of:
        said.append(f"{name} {escape_unprintable(chances[0].name, 60)} {chances[0].probability:.1%}")
    for value in answer.values:
        said.append(f"{value.name} {value.value:.6g}" + (f" ± {value.error:.3g}" if value.error is not None else ""))
    if answer.ranking:
        said.append(" > ".join(f"{item.name} ({item.score:.3g})" for item in answer.ranking))
    if answer.mask is not None:
        said.append(
            ", ".join(f"{escape_unprintable(each.name, 60)} {each.probability:.1%}" for each in answer.mask.shares)
        )
    if answer.nearest:
        shown = ", ".join(_name_neighbor(each) for each in answer.nearest[:_SHOWN])
        said.append(f"nearest: {shown}")
    if answer.embedding:
        first = ", ".join(f"{value:.4g}" for value in answer.embedding[:_SHOWN])
        said.append(f"{len(answer.embedding)} numbers ({first}, ...)")
    if answer.perplexity is not None:
        said.append(f"perplexity {answer.perplexity:.4g}")
    return "; ".join(said)
