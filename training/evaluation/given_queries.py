"""A table of queries given to a network that was trained to rank another: its columns by name, its rows put together by query."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl
import torch
from torch import Tensor

from training.answering.model import open_model
from training.answering.rows import read_query
from training.config.sections.data.dataset_section import DatasetSection
from training.config.sections.data.tables import RankingDataset
from training.data.given_section import refuse_given
from training.data.source import Source
from training.data.sources.ranking import NO_ROW, place_items
from training.data.tables.columns import dense_codes
from training.data.tables.table_file import read_new_table
from training.errors import pluralize
from training.evaluation.given_rows import find_targets, list_notes, read_targets, refuse_column, stack_values
from training.facts import DataFacts, Layout
from training.runs.records.manifest import digest
from training.system.untrusted import escape_unprintable


@dataclass(kw_only=True, eq=False)
class GivenQueries(Source):
    """The queries that have two ranked rows and more."""

    layout: Layout = "list"
    values: Tensor
    queries: tuple[str, ...]

    def read(self, indices: Tensor) -> Tensor:
        """float32 (n, items, columns), NaN where a number is missing and where no row is."""
        return self.values[indices]

    def name(self, index: int) -> str:
        return f"query {self.queries[index]}"


def open_queries(
    checkpoint: Path, dataset: DatasetSection, facts: DataFacts, path: Path
) -> tuple[GivenQueries, tuple[str, ...]]:
    """Its samples, and what there is to say. Raises InputError for a column that differs or a cell that is none, by name."""
    if not isinstance(dataset, RankingDataset):
        raise refuse_given(path, "is a table, but the run did not learn to rank the rows of one")
    frame = read_new_table(path, dataset, facts.table)
    (name,) = find_targets(dataset, facts, frame, path)
    column = dataset.query_column
    if column not in frame.columns:
        raise refuse_column(frame, column, "which tells the queries apart", path)
    ranked = frame.with_row_index("", offset=1).filter(pl.col(name).is_not_null())
    query, texts = dense_codes(ranked.get_column(column))
    if not bool(query.all()):
        row = int(ranked.get_column("")[int((query == 0).nonzero()[0])])
        raise refuse_given(
            path, f"row {row:,} has nothing in column '{escape_unprintable(column, 60)}'; name its query"
        )
    most, rows = facts.shape[0], list(ranked.iter_rows(named=True))
    places, kept, cut = place_items(query, most)
    if not len(kept):
        raise refuse_given(path, "no query has two rows with a rank, so there is nothing to rank")
    places = torch.nn.functional.pad(places, (0, most - places.shape[1]), value=NO_ROW)
    model = open_model(checkpoint)
    names = tuple(texts[code - 1] for code in kept.tolist())
    samples = [
        read_query(model, [(rows[place][""], rows[place]) for place in some if place != NO_ROW], f"query {each}")
        for each, some in zip(names, places.tolist(), strict=True)
    ]
    values = stack_values(samples, path, ", ")
    ranks = read_targets(ranked, (name,), facts, path)[:, 0]
    notes = list_notes(_split_note(note) for each in samples for note in each.notes if note.startswith("row "))
    without, alone = frame.height - ranked.height, len(texts) - len(kept)
    notes += [f"{pluralize(without, 'row')} without a target left out."] if without else []
    notes += [f"{'1 query' if alone == 1 else f'{alone:,} queries'} of a single row left out."] if alone else []
    notes += (
        [f"Of longer queries only the first {most} rows are ranked ({pluralize(cut, 'row')} left out)."] if cut else []
    )
    return (
        GivenQueries(
            target=facts.target,
            classes=facts.names,
            shape=tuple(facts.shape),
            columns=facts.columns,
            categories=facts.categories,
            codes=facts.codes,
            table=facts.table,
            targets=torch.where(places == NO_ROW, float("nan"), ranks[places]),
            values=values,
            queries=names,
            parts={"train": torch.arange(len(kept))},
            fingerprint=digest(path),
        ),
        tuple(notes),
    )


def _split_note(note: str) -> tuple[str, int]:
    """What ``read_query`` notes of a row, and its number."""
    row, _, what = note.partition(": ")
    return what, int(row.removeprefix("row ").replace(",", ""))
