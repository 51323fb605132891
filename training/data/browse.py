"""The dataset that the window looks at, kept open from page to page."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.config import RunConfig, parse_config
from training.config.sections.data.tables import TableSection
from training.data.duplicates import report_duplicates
from training.data.exclude import listed_digests
from training.data.given_section import choose_section
from training.data.images.cache_room import cache_wish
from training.data.inspect import digest_data, inspect_dataset
from training.data.sample_page import OpenedData, open_data, read_numbers, read_page
from training.data.source import ReportProgress, Source
from training.errors import InputError
from training.facts import DataFacts
from training.predictions.record import PARTS
from training.protocol.answers import PAGE, TEXTS, Answer, DatasetReport, DuplicateReport, SampleDigests, SamplePage
from training.protocol.messages import (
    BrowseSamples,
    DataQuestion,
    DigestData,
    DigestSamples,
    FindDuplicates,
    InspectDataset,
    ReadSamples,
)
from training.protocol.model_answers import PickedRow
from training.runs.folder import RunFolder
from training.runs.records.manifest import list_checkpoints, read_manifest
from training.runs.relocation import config_here

_PATIENCE = 120.0
"""Seconds that a dataset nobody looks at stays open."""


class Browser:
    """Answers a window's questions about its data. A report reads the data again; the pages after it are of what it found, for a
    while where ``keeps``."""

    def __init__(self, keeps: bool, now: Callable[[], float] = time.monotonic) -> None:
        self._keeps = keeps
        self._now = now
        self._data: OpenedData | None = None
        self._used = 0.0

    def answer(self, asked: DataQuestion, report_progress: ReportProgress) -> Answer:
        """Whatever the window asks of the data that it sets up. Raises TrainingError."""
        match asked:
            case InspectDataset():
                return self.inspect(asked)
            case BrowseSamples():
                return self.read_page(asked)
            case DigestSamples():
                return self.digest_samples(asked)
            case DigestData():
                return digest_data(_read_config(asked), report_progress)
            case FindDuplicates():
                return self.find_duplicates(asked, report_progress)

    def inspect(self, asked: InspectDataset) -> DatasetReport:
        """As ``inspect_dataset``."""
        self.forget()
        return inspect_dataset(_read_config(asked), open_data=self._open)

    def read_page(self, asked: BrowseSamples) -> SamplePage:
        """As ``sample_page.read_page``; of a table its rows."""
        config = _read_config(asked)
        if isinstance(config.dataset, TableSection):
            from training.data.tables.table_preview import read_rows  # with polars, which others need not wait for

            only = self._find_rows(config, asked.part) if asked.part else None
            return read_rows(config.dataset, asked.offset, asked.column, asked.value, only)
        data = self._find(config)
        count = asked.count or (TEXTS if data.source.layout == "tokens" else PAGE)
        return read_page(data, asked.part, asked.classes, asked.offset, count, asked.name)

    def _find_rows(self, config: RunConfig, part: str) -> NDArray[np.int64]:
        """Which rows of the file are samples of ``part``, or of its queries."""
        data = self._find(config)
        rows: NDArray[np.int64] = _rows_of(data.source)[data.list_samples(part)].numpy().reshape(-1)
        return rows[rows >= 0]

    def digest_samples(self, asked: DigestSamples) -> SampleDigests:
        """What an exclude list calls the samples. Raises InputError for one that is not there."""
        config = _read_config(asked)
        if config.dataset.no_exclude:
            raise InputError(f"{config.dataset.kind} has no exclude list: {config.dataset.no_exclude}.")
        data = self._find(config)
        source, numbers = data.source, torch.tensor(asked.numbers, dtype=torch.int64)
        if isinstance(config.dataset, TableSection):
            asked_for = torch.isin(_rows_of(source), numbers)
            numbers = asked_for.view(len(asked_for), -1).any(1).nonzero().flatten()  # a query has several rows
        if not len(numbers) or int(numbers.max()) >= len(source.targets):
            raise InputError("These samples are not part of the data as it is read now.", "Read the data again.")
        digests = listed_digests(source, numbers)
        return SampleDigests(names={key: source.name(at) for key, at in zip(digests, numbers.tolist(), strict=True)})

    def find_duplicates(self, asked: FindDuplicates, report_progress: ReportProgress) -> DuplicateReport:
        """What of the samples held out is trained on, too."""
        data = self._find(_read_config(asked))
        return report_duplicates(data, report_progress)

    def read_samples(self, asked: ReadSamples) -> SamplePage:
        """As ``sample_page.read_numbers``, of the run's data or of other data that was evaluated."""
        return read_numbers(self._find_evaluated(asked.run, asked.on), asked.numbers, asked.names)

    def read_pixels(self, folder: Path, on: str, number: int, name: str = "") -> NDArray[Any]:
        """The image with that ``number`` and ``name`` (C, H, W), as a model of the run in ``folder`` takes it; ``on`` as in ``ReadSamples``. Raises
        TrainingError."""
        data = self._find_evaluated(folder, on)
        source, place = data.source, data.find_number(number, name)
        if source.layout != "image":
            raise InputError("The samples of this data are no images.")
        if place is None:
            raise InputError("The data has no such sample any more.")
        return source.read(torch.tensor([place]))[0, ..., : source.shape[0]].permute(2, 0, 1).contiguous().numpy()

    def pick_row(self, folder: Path, features: Sequence[str], place: int) -> PickedRow:
        """The row at ``place`` of the samples that the run in ``folder`` did not train on; rows that have no names of their own are of
        ``features``. Raises TrainingError."""
        data = self._find_evaluated(folder, "validation")
        part = next(part for part in ("validation", "test", "train") if len(data.splits.get(part, ())))
        number = int(data.splits[part][place % len(data.splits[part])])
        source, dataset = data.source, data.config.dataset
        name = f"{source.name(number)} of the {part} part"
        if source.layout != "vector":
            raise InputError("The samples of this data are no rows.")
        if isinstance(dataset, TableSection):
            from training.data.tables.one_row import read_cells  # with polars, which others need not wait for

            row = read_cells(dataset, source, number)
            return PickedRow(name=name, row=row, truth=", ".join(f"{each} is {row[each]}" for each in dataset.targets))
        values = source.read(torch.tensor([number]))[0].tolist()
        row = {name: f"{value:.6g}" for name, value in zip(features, values, strict=True)}
        truth = f"its class is {source.classes[int(source.targets[number])]}" if source.target == "class" else ""
        return PickedRow(name=name, row=row, truth=truth)

    def _find_evaluated(self, folder: Path, on: str) -> OpenedData:
        run = RunFolder(folder)
        config = config_here(run)
        return self._find(config if on in PARTS else _with_given(config, run, Path(on)))

    def _find(self, config: RunConfig) -> OpenedData:
        data = self._data
        if data is None or _key(data.config) != _key(config):
            self.forget()
            data = self._open(config)
        self._used = self._now()
        return data

    def rest(self) -> None:
        """Let go of what nobody has looked at for a while."""
        if self._now() - self._used > _PATIENCE:
            self.forget()

    def forget(self) -> None:
        """Let go of the data: a run needs the memory."""
        self._data = None

    def _open(self, config: RunConfig) -> OpenedData:
        data = open_data(config)
        if self._keeps:
            self._data, self._used = data, self._now()
        return data


def _rows_of(source: Source) -> Tensor:
    """Which rows of the file each sample of a table is: int64 (N,), or (N, L) of queries."""
    from training.data.sources.table import Table

    assert isinstance(source, Table)
    return source.rows


def _with_given(config: RunConfig, run: RunFolder, path: Path) -> RunConfig:
    """That of a run whose checkpoint was evaluated on the data in ``path``."""
    checkpoint = next(iter(list_checkpoints(run)), None)
    if checkpoint is None:
        raise InputError(f"The run {run.id} has no checkpoint any more that tells how {path} is to be read.")
    try:
        facts = DataFacts.from_record(read_manifest(checkpoint.path).data.dump())
    except (TypeError, ValueError) as error:
        raise InputError(f"{checkpoint.path}: its manifest does not say enough about the data.") from error
    return config.model_copy(update={"dataset": choose_section(config.dataset, facts, path)})


def _read_config(asked: DataQuestion) -> RunConfig:
    return parse_config(asked.config, about=("dataset",))  # whatever is going to be done with the data


def _key(config: RunConfig) -> object:
    """What the samples that are shown depend on."""
    return config.dataset, config.seed, cache_wish(config.loader)
