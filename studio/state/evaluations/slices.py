"""Parts of the samples that have something in common: a column's value, a property of the image, a class; and how well each is told."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from studio.state.evaluations.per_class import choose_groups
from studio.state.evaluations.selection import Mask
from studio.state.formats import format_number
from training.predictions import Evaluation
from training.statistics.grouped import Totals, count_cells, mean_intervals, rate_intervals
from training.statistics.intervals import Interval

if TYPE_CHECKING:
    import polars

_BINS = 4
"""Quantile bins of numbers."""
_MOST_VALUES = 20
"""Of a column, the most frequent ones."""
_MOST_COLUMNS = 60
_FEWEST = 10
"""Samples that a slice must have: of fewer nothing can be said."""
_MISSING = "missing"


class Aspect(NamedTuple):
    """What divides the samples. ``titles`` names the parts; ``codes`` intp (n,) says in which each sample is, -1 for none. Several have one
    name where a sample may be in several parts."""

    name: str
    titles: Sequence[str]
    codes: NDArray[np.intp]


class Score(NamedTuple):
    """``terms`` float64 (n,), whose mean, or its root where ``is_root``, is the figure ``name``; NaN: the sample does not count."""

    name: str
    terms: NDArray[np.float64]
    larger_is_better: bool
    is_root: bool = False


class Slice(NamedTuple):
    """``rest`` is the figure of all other samples; ``harm`` by how much the figure of all is worse than that, below 0 where it is
    better."""

    aspect: str
    title: str
    samples: int
    figure: Interval
    rest: float
    harm: float

    @property
    def words(self) -> str:
        """How it is called."""
        return f"{self.aspect}: {self.title}"

    @property
    def difference(self) -> float:
        """Of its figure from the rest's."""
        return self.figure.value - self.rest

    @property
    def stands_out(self) -> bool:
        """Whether its interval excludes the rest's figure."""
        return not self.figure.low <= self.rest <= self.figure.high


def find_slices(evaluation: Evaluation, mask: Mask | None) -> Sequence[Slice]:
    """Of the samples in ``mask``, (n,), or of all, the most harmful first; those of fewer than ten samples, and of all, left out."""
    counted = np.isfinite(find_score(evaluation).terms)
    return _find_all_slices(evaluation) if mask is None else _find_in_rows(evaluation, np.flatnonzero(counted & mask))


@lru_cache(2)
def _find_all_slices(evaluation: Evaluation) -> Sequence[Slice]:
    return _find_in_rows(evaluation, np.flatnonzero(np.isfinite(find_score(evaluation).terms)))


def _find_in_rows(evaluation: Evaluation, rows: NDArray[np.intp]) -> Sequence[Slice]:
    score = find_score(evaluation)
    terms = score.terms[rows]
    squared, groups = np.square(terms), choose_groups(evaluation, rows)
    total = Sums(len(terms), float(terms.sum()))
    found = []
    for aspect in find_aspects(evaluation):
        place, size = aspect.codes.take(rows), len(aspect.titles)
        counts, sums, squares = (count_cells(place, size, groups, each) for each in (None, terms, squared))
        samples, totals = (each if groups is None else each.sum(0) for each in (counts, sums))
        told = np.flatnonzero((samples >= _FEWEST) & (samples < total.samples))
        figures = _find_figures(counts[..., told], sums[..., told], squares[..., told], score)
        for at, figure in zip(told.tolist(), figures, strict=True):
            part = Sums(int(samples[at]), float(totals[at]))
            found.append(_compare(aspect.name, aspect.titles[at], figure, part, total, score))
    return tuple(sorted(found, key=lambda each: -each.harm))


def find_members(evaluation: Evaluation, *, aspect: str, title: str) -> Mask:
    """The samples of a slice."""
    mask = np.zeros(evaluation.record.samples, np.bool_)
    for each in find_aspects(evaluation):
        if each.name == aspect and title in each.titles:
            mask |= each.codes == list(each.titles).index(title)
    return mask


class Sums(NamedTuple):
    """Of the terms of some samples."""

    samples: int
    total: float


def _compare(aspect: str, title: str, figure: Interval, part: Sums, total: Sums, score: Score) -> Slice:
    rest, whole = (
        _root((total.total - part.total) / (total.samples - part.samples), score),
        _root(total.total / total.samples, score),
    )
    harm = rest - whole if score.larger_is_better else whole - rest
    return Slice(aspect, title, part.samples, figure, rest, harm)


def _find_figures(counts: Totals, sums: Totals, squares: Totals, score: Score) -> list[Interval]:
    if score.larger_is_better:  # a rate
        return rate_intervals(sums, counts)
    found = mean_intervals(sums, counts, squares)
    return [Interval(*(_root(max(each, 0.0), score) for each in one)) for one in found]


def _root(value: float, score: Score) -> float:
    return math.sqrt(max(value, 0.0)) if score.is_root else value


# ----------------------------------------------------------------------------------------------------------- figures


@lru_cache(2)
def find_score(evaluation: Evaluation) -> Score:
    """What is looked at: accuracy of classes, RMSE of a single value, else the mean loss."""
    record = evaluation.record
    if record.target == "class" and evaluation.has("prediction"):
        target = np.asarray(evaluation.column("target"))
        right = (np.asarray(evaluation.column("prediction")) == target).astype(np.float64)
        return Score("accuracy", np.where(target < 0, math.nan, right), True)
    if record.target == "values" and len(record.names) == 1:
        errors = np.asarray(evaluation.column("prediction"), np.float64) - evaluation.column("target")
        return Score("rmse", np.square(errors[:, 0]), False, True)
    return Score("loss", np.asarray(evaluation.column("loss"), np.float64), False)


@lru_cache(2)
def find_aspects(evaluation: Evaluation) -> tuple[Aspect, ...]:
    """All that divides these samples."""
    return tuple(_list_aspects(evaluation))


def _list_aspects(evaluation: Evaluation) -> Iterator[Aspect]:
    record = evaluation.record
    if record.target == "class":
        yield Aspect("True class", record.names, np.asarray(evaluation.column("target"), np.intp))
    elif record.target == "labels":
        target = np.asarray(evaluation.column("target"))
        for at, name in enumerate(record.names):
            yield Aspect("Label", (name,), np.where(target[:, at] > 0, 0, -1))
    elif record.target == "values":
        target = np.asarray(evaluation.column("target"), np.float64)
        for at, name in enumerate(record.names):
            yield from _divide_numbers(f"True {name}", target[:, at])
    if evaluation.has("properties"):
        properties = np.asarray(evaluation.column("properties"), np.float64)
        for at, name in enumerate(record.properties):
            yield from _divide_numbers(f"Image {name}", properties[:, at])
    rows = evaluation.rows
    for column in [] if rows is None else rows.get_columns()[:_MOST_COLUMNS]:
        if not _is_target(column, evaluation):
            yield from _divide_column(column)


def _is_target(column: polars.Series, evaluation: Evaluation) -> bool:
    """Whether a column of a table is what was to be predicted, by which the samples are divided already."""
    import polars

    record = evaluation.record
    if record.target != "class":
        return record.target in ("labels", "values") and column.name in record.names
    classes = polars.Series(record.names, dtype=polars.String).gather(np.maximum(evaluation.column("target"), 0))
    return bool((column.cast(polars.String, strict=False) == classes).all())


def _divide_column(column: polars.Series) -> Iterator[Aspect]:
    """By its values where they are texts or few, else by quantiles."""
    import polars

    if column.dtype.is_temporal():
        yield from _divide_numbers(column.name, _numbers(column.to_physical()), partial(_show_moment, column.dtype))
    elif column.dtype.is_numeric() and column.n_unique() > _MOST_VALUES // 2:
        yield from _divide_numbers(column.name, _numbers(column))
    else:
        texts = column.cast(polars.String, strict=False).fill_null(_MISSING)
        counts = texts.value_counts(sort=True)
        titles = [str(title) for title in counts[texts.name].head(_MOST_VALUES).to_list()]
        if len(counts) > 1 and counts["count"][0] >= _FEWEST:
            known = {title: at for at, title in enumerate(titles)}
            codes = texts.replace_strict(list(known), list(known.values()), default=-1, return_dtype=polars.Int64)
            yield Aspect(column.name, titles, codes.to_numpy().astype(np.intp))


def _numbers(column: polars.Series) -> NDArray[np.float64]:
    import polars

    return column.cast(polars.Float64, strict=False).fill_null(math.nan).to_numpy()


def _show_moment(dtype: Any, value: float) -> str:
    import polars

    return str(polars.Series([int(value)]).cast(dtype)[0])


def _divide_numbers(name: str, values: NDArray[np.float64], show: Any = format_number) -> Iterator[Aspect]:
    """By quantiles; what is missing is a part of its own. Nothing where all are equal."""
    known = np.isfinite(values)
    if not known.any():
        return
    edges = np.unique(np.quantile(values[known], np.linspace(0.0, 1.0, _BINS + 1)))
    if len(edges) < 2:
        return
    codes = np.where(known, np.clip(np.searchsorted(edges, values, "right") - 1, 0, len(edges) - 2), len(edges) - 1)
    titles = [f"{show(low)} to {show(high)}" for low, high in pairwise(edges.tolist())]
    yield Aspect(name, _tell_apart([*titles, _MISSING]), codes.astype(np.intp))


def _tell_apart(titles: Sequence[str]) -> list[str]:
    """Equal ones, of edges that round to the same figures, numbered."""
    return [f"{title} ({at + 1})" if titles.count(title) > 1 else title for at, title in enumerate(titles)]
