"""``Features``: the columns a table's rows are predicted from, as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl
import torch
from torch import Tensor

from training.config.sections.data.tables import TableSection
from training.core.readers.table_reading import append_gaps, encode_rows
from training.data.tables.columns import dense_codes
from training.data.tables.odd_cells import are_numbers, has_decimal_commas, refusal


@dataclass(frozen=True)
class Features:
    """Numbers as they are, NaN where one is missing; categories as codes, 0 where one is missing or was not trained on.

    ``values`` is float32 (rows, columns) with the codes of the whole file, ``texts`` says what each column's codes 1, 2, ...
    stand for (none: numbers). ``fit`` finds the codes that training rows have: ``maps`` leads from the file's to those.
    ``marked`` are the columns whose gaps have a column of their own. ``rows``, int64 (rows,), are the numbers in the file.
    """

    values: Tensor
    names: tuple[str, ...]
    texts: tuple[tuple[str, ...], ...]
    dataset: TableSection
    rows: Tensor
    decimal_comma: bool = False
    maps: tuple[Tensor, ...] = ()
    marked: tuple[int, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.names, *(f"{self.names[column]} missing" for column in self.marked))

    @property
    def codes(self) -> tuple[tuple[str, ...], ...]:
        """For each of ``columns``: what its codes stand for."""
        known = self.texts
        if self.maps:
            known = tuple(
                tuple(text for code, text in sorted(zip(to[1:].tolist(), texts, strict=True)) if code)
                for texts, to in zip(self.texts, self.maps, strict=True)
            )
        return (*known, *(() for _ in self.marked))

    @property
    def categories(self) -> tuple[int, ...]:
        """As ``DataFacts.categories``."""
        known = tuple(len(codes) + 1 if texts else 0 for codes, texts in zip(self.codes, self.texts, strict=False))
        return (*known, *(0 for _ in self.marked)) if any(known) else ()

    def fit(self, rows: Tensor) -> Features:
        """With the codes and the gaps of ``rows`` (int64) alone. Raises InputError for a column that holds numbers in these, and
        other text elsewhere: it would be no category but for rows that are held out."""
        maps, marked = [], []
        for column, texts in enumerate(self.texts):
            values = self.values[rows, column]
            if texts:
                present = torch.unique(values.long())
                present = self._in_order(column, present[present > 0])
                trained = [texts[code - 1] for code in present.tolist()]
                in_file = pl.DataFrame({"text": [None, *texts]}, {"text": pl.String})
                maps.append(encode_rows(in_file, {"text": trained})[:, 0])
            else:
                maps.append(torch.zeros(1))
                if self.dataset.missing_indicator and bool(values.isnan().any()):
                    marked.append(column)
        return replace(self, maps=tuple(maps), marked=tuple(marked))

    def _in_order(self, column: int, present: Tensor) -> Tensor:
        """The codes ``present`` of the training rows in their order: by number, if the column were one of numbers without what
        other rows hold."""
        name, texts = self.names[column], self.texts[column]
        known = pl.Series([texts[code - 1] for code in present.tolist()], dtype=pl.String)
        if len(known) in (0, len(texts)):
            return present
        if not bool(are_numbers(known, self.decimal_comma).all()):
            return present
        numbers = are_numbers(pl.Series(texts, dtype=pl.String), self.decimal_comma).to_list()
        odd = [code for code, is_number in enumerate(numbers, 1) if not is_number]
        if not odd:
            return present
        if name in self.dataset.categorical and all(map(_is_whole, known.to_list())):
            return torch.tensor(sorted(present.tolist(), key=lambda code: int(texts[code - 1])))
        first = int(torch.isin(self.values[:, column].long(), torch.tensor(odd)).nonzero()[0])
        text = texts[int(self.values[first, column]) - 1]
        where = f"in row {int(self.rows[first]) + 1:,}, which is not trained on"
        raise refusal(where, text, [name], [texts[code - 1] for code in odd], self.dataset)

    def in_file(self, rows: Tensor) -> Tensor:
        """As ``read``, with the codes of the whole file: categories that no training row has are told apart."""
        return self.values[rows]

    def read(self, rows: Tensor) -> Tensor:
        """float32 (n, columns) of the int64 (n,) ``rows``."""
        values = self.values[rows]
        for column, texts in enumerate(self.texts):
            if texts and self.maps:
                values[:, column] = self.maps[column][values[:, column].long()]
        if not self.marked:
            return values
        return append_gaps(values, self.marked)


def encode(
    columns: dict[str, pl.Series], names: Sequence[str], categorical: Sequence[str], dataset: TableSection, rows: Tensor
) -> Features:
    """The columns ``names`` of ``columns``, which has them no more afterwards: a large table is not held twice. A dict, because
    to take one out of a DataFrame moves all the others."""
    values = torch.empty(len(rows), len(names))
    texts: list[tuple[str, ...]] = []
    coded = frozenset(categorical)
    for place, name in enumerate(names):
        column = columns.pop(name)
        if name in coded:
            codes, known = dense_codes(column)
            values[:, place] = codes
            texts.append(known)
        else:
            values[:, place] = encode_rows(column.to_frame(), {name: None})[:, 0]
            texts.append(())
    return Features(
        values, tuple(names), tuple(texts), dataset, rows, bool(categorical) and has_decimal_commas(dataset)
    )


def _is_whole(text: str) -> bool:
    """Whether it is a whole number as ``str`` writes it: else two texts could be one number."""
    return text.removeprefix("-").isdecimal() and text == str(int(text))
