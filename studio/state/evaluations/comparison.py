"""Two evaluations of the same samples: what there is to compare with, which is better, and who is right where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from studio.engine.client import Ticket
from studio.engine.host import EngineHost
from studio.state.formats import metric_title
from training.errors import InputError
from training.predictions import Evaluation, EvaluationRecord, read
from training.predictions.pairing import find_keys, pairs_by_content
from training.predictions.probabilities import reach_threshold
from training.protocol.answers import EvaluationComparison
from training.protocol.messages import CompareEvaluations, Refusal
from training.runs.folder import RunFolder

Mask = NDArray[np.bool_]
_MOST_OF_A_RUN = 5


def find_comparable(shown: Evaluation, runs: Sequence[RunFolder]) -> list[Evaluation]:
    """The newest evaluations of each of ``runs`` that may have samples in common with ``shown``."""
    key = shown.folder.name.rpartition("-")[2]
    return [found for run in runs for found in _find_in(run, key) if _fits(shown, found)]


def _find_in(run: RunFolder, key: str) -> Iterator[Evaluation]:
    folders = sorted(
        ((step, path) for step, path in run.evaluation_folders() if path.name.endswith(f"-{key}")), reverse=True
    )
    for _step, folder in folders[:_MOST_OF_A_RUN]:
        with suppress(InputError):
            yield read(folder)


def _fits(first: Evaluation, second: Evaluation) -> bool:
    one, other = first.record, second.record
    if (one.on, one.target, one.names) != (other.on, other.target, other.names):
        return False
    with suppress(InputError):
        return pairs_by_content(first, second) is not None
    return False


def knows_right(record: EvaluationRecord) -> bool:
    """Whether an answer is right or wrong as a whole."""
    return record.target == "labels" or (record.target == "class" and "prediction" in record.columns)


def find_right(evaluation: Evaluation) -> Mask:
    """The samples that were answered rightly, (n,): of labels those of which every one was."""
    target = evaluation.column("target")
    if evaluation.record.target == "class":
        return np.asarray(target == evaluation.column("prediction"))
    answers = reach_threshold(evaluation.column("scores"), evaluation.record.threshold)
    return np.asarray(((target > 0) == answers).all(1))


class Answers(NamedTuple):
    """Which samples were answered rightly: what they are told apart by, rising, and bool (n,)."""

    keys: NDArray[np.generic]
    right: Mask
    by_content: bool


def read_answers(evaluation: Evaluation, shown: Evaluation) -> Answers:
    """Of all samples of ``evaluation``, to be found among those that are ``shown``. Raises InputError."""
    by_content = bool(pairs_by_content(shown, evaluation))
    keys = find_keys(evaluation, by_content)
    order = np.argsort(keys)
    return Answers(keys[order], find_right(evaluation)[order], by_content)


def find_only_right(evaluation: Evaluation, *, other: Answers, first: bool) -> Mask:
    """The samples, (n,), that only ``evaluation`` answered rightly, or only ``other``, of those that both answered."""
    keys = find_keys(evaluation, other.by_content)
    places = np.minimum(np.searchsorted(other.keys, keys), len(other.keys) - 1)
    both, a, b = other.keys[places] == keys, find_right(evaluation), other.right[places]
    return np.asarray(both & (a & ~b if first else ~a & b))


class Compared(NamedTuple):
    """What the engine found: ``sentences`` by the metric's name, or why there are none."""

    sentences: dict[str, str]
    notes: tuple[str, ...]

    def list_lines(self) -> list[str]:
        """Each sentence after the name of its metric."""
        titles = {name: metric_title(name) for name in self.sentences}
        return [f"{titles[name][:1].upper()}{titles[name][1:]}: {words}" for name, words in self.sentences.items()]


class ComparisonQuestion(QObject):
    """Asks the engine about two evaluations, and hears of the last pair only.

    Signals:
        answered(Compared)
    """

    answered = Signal(object)

    def __init__(self, engine: EngineHost, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._ticket: Ticket | None = None

    def ask(self, first: Evaluation, second: Evaluation) -> None:
        """Compare B, the ``second``, with A."""
        self.drop()
        request = CompareEvaluations(first=first.folder, second=second.folder)
        self._ticket = self._engine.ask(request, EvaluationComparison, self._on_result, self._on_refused)

    def drop(self) -> None:
        """Nobody waits for the answer any more."""
        if self._ticket is not None:
            self._ticket.cancel()
        self._ticket = None

    def _on_result(self, found: EvaluationComparison) -> None:
        self.answered.emit(Compared(found.sentences, found.notes))

    def _on_refused(self, refusal: Refusal) -> None:
        self.answered.emit(Compared({}, (str(refusal),)))
