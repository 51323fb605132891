"""How well one column alone predicts a target, measured on rows that were not looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from training.data.source import Source
from training.findings.tables import COPY
from training.statistics.ranks import rank, rank_correlation

_MOST_TARGETS = 20
_LEAST_OTHERS = 10
"""Rows of other classes than the usual one, of fewer nothing is said."""


@dataclass(frozen=True)
class Answers:
    """What is to be predicted in the rows: ``values`` float64 (n,), class numbers where there are ``classes``, else (0) the ranks of numbers,
    so that a few large ones do not decide."""

    name: str
    values: NDArray[np.float64]
    classes: int


@dataclass(frozen=True)
class ColumnSkill:
    """``skill`` is 0 of guessing the usual class or the mean, 1 of being always right; ``right`` the share of rows whose class is;
    ``distinct`` how many values the column has in the ``rows``."""

    skill: float
    right: float
    distinct: int
    rows: int


class _Halves(NamedTuple):
    """The rows that are ``known`` and those ``asked``: ``which`` of the ``cells`` different ones each known row has, and by which an asked
    one is predicted (``near``; -1: none)."""

    known: NDArray[np.int64]
    asked: NDArray[np.int64]
    which: NDArray[np.int64]
    near: NDArray[np.int64]
    cells: int


def answers_of(source: Source, rows: Tensor) -> list[Answers]:
    """The targets of ``rows`` (int64), the first of very many."""
    targets = source.targets[rows].numpy()
    if source.target == "class":
        return [Answers("", targets.astype(np.float64), len(source.classes))]
    if source.target not in ("labels", "values", "tasks"):
        return []
    kinds = source.target_classes or ((),) * len(source.classes)
    answers = []
    for place, name in enumerate(source.classes[:_MOST_TARGETS]):
        values, classes = targets[:, place].astype(np.float64), 2 if source.target == "labels" else len(kinds[place])
        answers.append(Answers(name, values if classes else rank(values), classes))
    return answers


def measure_skill(column: NDArray[np.float32], coded: bool, answers: list[Answers]) -> list[ColumnSkill]:
    """For each of ``answers`` what half of the rows tells of the other half, and the other way round: by rows with an equal cell,
    else by those with the nearest number (``coded``: codes are equal or not)."""
    order = np.random.default_rng(0).permutation(len(column))
    halves = order[: len(order) // 2], order[len(order) // 2 :]
    distinct = len(np.unique(column))
    sums = np.zeros((len(answers), 3))  # the error, that of guessing, rows
    for known, asked in (halves, halves[::-1]):
        cells, which = np.unique(column[known], return_inverse=True)
        halved = _Halves(known, asked, which, _find_nearest(cells, column[asked], coded), len(cells))
        for number, target in enumerate(answers):
            errors = (_count_wrong if target.classes else _sum_squares)(target, halved)
            sums[number] += (*errors, len(asked))
    return [_conclude(target, row, distinct) for target, row in zip(answers, sums, strict=True)]


def _conclude(target: Answers, sums: NDArray[np.float64], distinct: int) -> ColumnSkill:
    error, guessing, rows = sums.tolist()
    too_few = target.classes and guessing < _LEAST_OTHERS
    skill = 0.0 if guessing <= 0 or too_few else 1.0 - error / guessing
    return ColumnSkill(skill, 1.0 - error / rows if target.classes else 0.0, distinct, int(rows))


def _find_nearest(cells: NDArray[np.float32], asked: NDArray[np.float32], coded: bool) -> NDArray[np.int64]:
    """For each of ``asked`` the place in the sorted ``cells`` (NaN last) that it is predicted by; -1: none."""
    after = np.minimum(np.searchsorted(cells, asked), len(cells) - 1)
    equal = (cells[after] == asked) | (np.isnan(cells[after]) & np.isnan(asked))
    if coded:
        return np.where(equal, after, -1)
    before = np.maximum(after - 1, 0)
    with np.errstate(invalid="ignore"):
        nearer = np.isnan(cells[after]) | (np.abs(asked - cells[before]) < np.abs(cells[after] - asked))
    place = np.where(equal, after, np.where(nearer, before, after))
    return np.where(np.isnan(asked) & ~equal, -1, place)


def _count_wrong(target: Answers, halves: _Halves) -> tuple[float, float]:
    """The rows that are predicted wrongly, and those that the usual class predicts wrongly."""
    known, asked, which, near, cells = halves
    classes, of_row = np.unique(target.values[known], return_inverse=True)
    usual = classes[np.bincount(of_row).argmax()]
    pairs, counts = np.unique(which * len(classes) + of_row, return_counts=True)
    best = np.full(cells, -1, np.int64)
    order = np.argsort(counts, kind="stable")  # the commonest of a cell is written last
    best[pairs[order] // len(classes)] = pairs[order] % len(classes)
    answered = np.where(near < 0, usual, classes[best[near]])
    truth = target.values[asked]
    return float((answered != truth).sum()), float((truth != usual).sum())


def _sum_squares(target: Answers, halves: _Halves) -> tuple[float, float]:
    """The squared error, and that of the mean."""
    known, asked, which, near, cells = halves
    values, truth = target.values[known], target.values[asked]
    means = np.bincount(which, values, cells) / np.bincount(which, minlength=cells)
    mean = values.mean()
    answered = np.where(near < 0, mean, means[near])
    return float(((answered - truth) ** 2).sum()), float(((mean - truth) ** 2).sum())


def is_copy(left: NDArray[np.float32], right: NDArray[np.float32]) -> bool:
    """Whether one column is the other in other numbers."""
    return abs(rank_correlation(left, right.astype(np.float64))) >= COPY
