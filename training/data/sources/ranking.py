"""``ranking``: the rows of a table, put together by query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from training.config.sections.data.tables import RankingDataset
from training.data.source import Opening
from training.data.sources.table import Table, load, without_gaps
from training.data.tables.columns import dense_codes, find_roles, read_parts, require_numbers
from training.data.tables.features import derive, encode
from training.errors import InputError, pluralize
from training.facts import Layout, Target
from training.system.untrusted import escape_unprintable

NO_ROW = -1
"""A place that no row fills."""


@dataclass(kw_only=True, eq=False)
class Queries(Table):
    """One sample for each query: its ``rows``, int64 (queries, items), in the order of the file, filled up with NaN."""

    layout: Layout = "list"
    target: Target = "ranks"
    queries: tuple[str, ...]

    def fit(self, train: Tensor) -> Self:
        rows = self.rows[train].flatten()
        self._set_features(self.features.fit(rows[rows != NO_ROW]))
        return self

    def read(self, indices: Tensor) -> Tensor:
        """float32 (n, items, columns), NaN where a number is missing and where no row is."""
        rows = self.rows[indices]
        items = self.features.read(rows.flatten()).view(*rows.shape, -1)
        coded = torch.tensor([bool(codes) for codes in self.categories] or [False] * len(self.columns))
        # A code is no amount that could be missing: no row has the unknown category.
        nothing = torch.where(coded, 0.0, float("nan"))
        return torch.where((rows == NO_ROW).unsqueeze(2), nothing, items)

    def in_file(self, indices: Tensor) -> Tensor:
        rows = self.rows[indices]
        items = self.features.in_file(rows.flatten()).view(*rows.shape, -1)
        return torch.where((rows == NO_ROW).unsqueeze(2), float("nan"), items)

    def find_rows(self, indices: Tensor) -> Tensor:
        rows = self.rows[indices]  # of those that have a rank
        return torch.where(rows == NO_ROW, NO_ROW, self.features.rows[rows])

    def name(self, index: int) -> str:
        return f"query {self.queries[index]}"


def open_ranking(dataset: RankingDataset, opening: Opening) -> Queries:
    frame, written, fingerprint, notes = load(dataset, opening)
    roles = find_roles(frame, dataset)
    if len(roles.targets) > 1:
        raise InputError("dataset.targets: items are ranked by one column; name one.")
    require_numbers(frame, roles.targets)
    frame, rows, more = without_gaps(frame, roles.targets)
    query, texts = dense_codes(frame.get_column(dataset.query_column))
    if not bool(query.all()):
        name = escape_unprintable(dataset.query_column, 60)
        raise InputError(f"dataset.query_column: some rows have nothing in column '{name}'; name their query.")
    places, kept, cut = place_items(query, dataset.max_items)
    if not len(kept):
        raise InputError(
            "dataset.query_column: no query has two rows, so there is nothing to rank; choose another column."
        )
    alone = len(texts) - len(kept)
    if alone:
        more.append(f"{'1 query' if alone == 1 else f'{alone:,} queries'} of a single row skipped")
    if cut:
        more.append(
            f"of longer queries only the first {dataset.max_items} rows are used ({pluralize(cut, 'row')} skipped)"
        )
    ranks = torch.from_numpy(frame.get_column(roles.targets[0]).to_numpy().astype(np.float32))
    parts = {"train": torch.arange(len(kept))}
    if dataset.split_column:
        parts = _parts_of_queries(read_parts(frame.get_column(dataset.split_column)), places, dataset.split_column)
    columns = derive(frame, roles)
    del frame
    return Queries(
        features=encode(columns, roles.categorical, dataset, rows),
        written=written,
        classes=roles.targets,
        targets=torch.where(places == NO_ROW, float("nan"), ranks[places]),
        rows=places,
        queries=tuple(texts[code - 1] for code in kept.tolist()),
        parts=parts,
        notes=(*notes, *roles.notes, *more),
        fingerprint=fingerprint,
    )


def place_items(query: Tensor, most: int) -> tuple[Tensor, Tensor, int]:
    """The rows (queries, items) of each query of two rows and more, its code, and how many rows do not fit in."""
    codes, sizes = torch.unique(query, return_counts=True)
    order = torch.sort(query, stable=True).indices
    starts = torch.cumsum(sizes, 0) - sizes
    large = sizes > 1
    length = min(most, int(sizes.max()))
    item = torch.arange(length)
    wanted = starts[large].unsqueeze(1) + item
    there = item < sizes[large].unsqueeze(1)
    rows = torch.where(there, order[wanted.clamp(max=len(order) - 1)], NO_ROW)
    return rows, codes[large], int((sizes - length).clamp(min=0).sum())


def _parts_of_queries(rows: dict[str, Tensor], places: Tensor, name: str) -> dict[str, Tensor]:
    """The part of each query; raises InputError for one whose rows are in two."""
    numbers = torch.full((int(places.max()) + 1,), -1)
    for number, indices in enumerate(rows.values()):
        numbers[indices[indices < len(numbers)]] = number
    first = numbers[places[:, 0]]
    same = (numbers[places.clamp(min=0)] == first.unsqueeze(1)) | (places == NO_ROW)
    if not bool(same.all()):
        raise InputError(
            f"dataset.split_column: column '{escape_unprintable(name, 60)}' puts rows of one query into two parts; keep a query together."
        )
    parts = {part: (first == number).nonzero().flatten() for number, part in enumerate(rows)}
    return {part: indices for part, indices in parts.items() if len(indices)}
