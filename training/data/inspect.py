"""A quick look at a dataset for the window's Setup page."""

from __future__ import annotations

import base64
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from training.config import RunConfig
from training.config.rules.problems import problems_of
from training.config.sections.data.classes import chosen_classes
from training.config.sections.data.dataset_section import DatasetSection
from training.config.sections.data.images import ImageTableDataset
from training.config.sections.data.tables import TableSection
from training.data.class_choice import ClassesRefused, list_choices
from training.data.fitted import open_fitted
from training.data.images.cache_room import cache_wish
from training.data.placement import refuse_too_much_made
from training.data.preparation import sample_bytes, summarize
from training.data.sample_page import OpenedData, open_data, read_page
from training.data.source import ClassCounts, Opening, ReportProgress, Source, silent
from training.data.sources.text import Text
from training.data.tables.targets import source_facts, target_facts
from training.data.texts.vocabulary import vocabulary_of
from training.errors import InputError
from training.facts import DataFacts
from training.protocol.answers import (
    PAGE,
    TEXTS,
    ClassChoice,
    DataDigest,
    DatasetReport,
    Points,
    SamplePage,
    TablePreview,
    TokenShare,
    ValueCounts,
)

_MOST_POINTS = 2000
_MOST_OWN = 500  # of a person's own code, which may take its time for each
_MOST_HISTOGRAMS, _INTERVALS = 6, 32
_COUNTED, _FREQUENT = 2000, 10


def inspect_dataset(
    config: RunConfig, samples: int = PAGE, open_data: Callable[[RunConfig], OpenedData] = open_data
) -> DatasetReport:
    """The report of a run's data, the parts the data came with, and some training samples, without decoding every file. Where the
    columns of a table cannot play their roles, the table and the sentence alone. Raises InputError as ``prepare`` does."""
    table = None
    if isinstance(config.dataset, TableSection | ImageTableDataset):
        from training.data.tables.table_preview import preview_table  # with polars, which others need not wait for

        table = preview_table(config.dataset)
    try:
        return _inspect(open_data(config), samples, table)
    except InputError as error:
        choices = mark_kept(config.dataset, error.choices) if isinstance(error, ClassesRefused) else ()
        if table is None and not choices:
            raise
        return DatasetReport(refused=str(error), problems=problems_of(error), table=table, class_choices=choices)


def _inspect(data: OpenedData, samples: int, table: TablePreview | None) -> DatasetReport:
    source, splits = data.source, data.splits
    train = splits["train"]
    plain = source.layout == "vector" and source.target == "class" and not source.columns
    page = read_page(data, count=samples) if source.layout == "image" else None
    if page is None and table is not None:
        from training.data.tables.table_preview import show_rows

        page = show_rows(table)
    report = DatasetReport(
        **dict(summarize(source, splits, data.config, target_facts(source, train, None))),
        given=tuple(sorted(source.parts)),
        bytes=sample_bytes(source) * len(source.targets),
        histograms=_histograms(source, train) if source.target in ("values", "ranks") else (),
        points=_points(source, train) if plain else None,
        first_page=page,
        place_counts=_count_pixels(page, len(source.classes)) if page and source.target == "mask" else (),
        table=table,
        class_choices=mark_kept(data.config.dataset, list_choices(data.config.dataset, source)),
    )
    return _describe_text(report, data, source) if isinstance(source, Text) else report


def mark_kept(dataset: DatasetSection, choices: ClassCounts) -> tuple[ClassChoice, ...]:
    """All classes that there are, and which of them ``dataset`` keeps."""
    wanted = chosen_classes(dataset)
    return tuple(ClassChoice(name=name, samples=count, kept=not wanted or name in wanted) for name, count in choices)


def input_facts(config: RunConfig) -> DataFacts:
    """What a model is built for, without the statistics that only reading tells. Raises InputError as ``prepare`` does."""
    refuse_too_much_made(config)
    source, splits = open_fitted(config.dataset, Opening(check=False))
    return target_facts(source, splits["train"], None)


def digest_data(config: RunConfig, report_progress: ReportProgress = silent) -> DataDigest:
    """What a run of ``config`` would know its data by; every file is read, or taken from the cache. Raises InputError as ``prepare`` does."""
    refuse_too_much_made(config)
    opening = Opening(
        seed=config.seed,
        workers=config.loader.workers,
        cache=cache_wish(config.loader),
        report_progress=report_progress,
    )
    return DataDigest(fingerprint=open_fitted(config.dataset, opening)[0].fingerprint)


def _points(source: Source, train: Tensor) -> Points:
    """The first two features of evenly spaced samples."""
    count = min(len(train), _MOST_OWN if source.runs_own_code else _MOST_POINTS)
    some = train[torch.arange(count) * len(train) // count]
    values = source.read(some)
    return Points(
        x=tuple(values[:, 0].tolist()),
        y=tuple(values[:, min(1, values.shape[1] - 1)].tolist()),
        label=tuple(source.classes[number] for number in source.targets[some].tolist()),
    )


def _histograms(source: Source, train: Tensor) -> tuple[ValueCounts, ...]:
    """Of the first few values to predict: how many training samples lie in each of equal intervals."""
    targets = source.targets[train].double()
    columns = targets.unbind(1) if source.target == "values" else [targets.flatten()]
    made = []
    for name, column in zip(source.classes[:_MOST_HISTOGRAMS], columns, strict=False):
        known = column[~column.isnan()]
        low, high = float(known.min()), float(known.max())
        counts = torch.histc(known, _INTERVALS, low, high) if low < high else torch.tensor([float(len(known))])
        made.append(ValueCounts(name=name, low=low, high=high, counts=tuple(counts.long().tolist())))
    return tuple(made)


def _count_pixels(page: SamplePage, classes: int) -> tuple[int, ...]:
    """How many pixels of each class are shown."""
    masks = b"".join(base64.b64decode(image.original_mask_base64 or "") for image in page.samples)
    return tuple(np.bincount(np.frombuffer(masks, np.uint8), minlength=classes)[:classes].tolist())


def _describe_text(report: DatasetReport, data: OpenedData, source: Text) -> DatasetReport:
    """With some passages, how many tokens each part has, as far as it was read, and those seen most often in up to 2,000 training
    windows."""
    vocabulary = vocabulary_of(source_facts(source))
    here = source.find_readable(data.splits["train"])
    some = here[torch.arange(min(len(here), _COUNTED)) * len(here) // min(len(here), _COUNTED)]
    counts = torch.bincount(source.read(some)[:, 1:].reshape(-1).long(), minlength=len(source.classes))
    total = int(counts.sum())
    order = torch.sort(counts, descending=True, stable=True).indices[:_FREQUENT].tolist()
    frequent = [TokenShare(name=vocabulary.show(token), share=int(counts[token]) / total) for token in order]
    told = {"vocabulary": source.vocabulary, "token_counts": source.token_counts}
    page = read_page(data, count=TEXTS)
    return report.model_copy(
        update={**told, "first_page": page, "frequent": tuple(each for each in frequent if each.share)}
    )
