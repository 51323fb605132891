"""A quick look at a dataset for the window's Setup page."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import PurePosixPath

import numpy as np
import torch
from torch import Tensor

from training.config import RunConfig
from training.config.rules.problems import problems_of
from training.config.sections.data.classes import chosen_classes
from training.config.sections.data.dataset_section import DatasetSection
from training.config.sections.data.images import ImageTableDataset
from training.config.sections.data.tables import TableSection
from training.core import counter_rng
from training.data.augment import Augmenter
from training.data.class_choice import ClassesRefused, list_choices
from training.data.images.cache_room import cache_wish
from training.data.placement import refuse_too_much_made
from training.data.prepare import sample_bytes, summarize
from training.data.source import ClassCounts, Opening, Source
from training.data.sources import open_source
from training.data.sources.text import Text
from training.data.splits import split_source
from training.data.tables.targets import source_facts, target_facts
from training.data.texts.vocabulary import vocabulary_of
from training.errors import InputError, TrainingError
from training.facts import DataFacts
from training.protocol.answers import (
    ClassChoice,
    DatasetReport,
    Points,
    Sample,
    TablePreview,
    TextWindow,
    TokenShare,
    ValueCounts,
)

_MOST_POINTS = 2000
_MOST_OWN = 500  # of a person's own code, which may take its time for each
_MOST_HISTOGRAMS, _INTERVALS = 6, 32


def inspect_dataset(config: RunConfig, samples: int = 24) -> DatasetReport:
    """The report of a run's data, the parts the data came with, and some training samples, without decoding every file. Where the
    columns of a table cannot play their roles, the table and the sentence alone. Raises InputError as ``prepare`` does."""
    table = None
    if isinstance(config.dataset, TableSection | ImageTableDataset):
        from training.data.tables.table_preview import preview_table  # with polars, which others need not wait for

        table = preview_table(config.dataset)
    try:
        return _inspect(config, samples, table)
    except InputError as error:
        choices = mark_kept(config.dataset, error.choices) if isinstance(error, ClassesRefused) else ()
        if table is None and not choices:
            raise
        return DatasetReport(refused=str(error), problems=problems_of(error), table=table, class_choices=choices)


def _inspect(config: RunConfig, samples: int, table: TablePreview | None) -> DatasetReport:
    refuse_too_much_made(config)
    source = open_source(config.dataset, Opening(check=False, seed=config.seed, cache=cache_wish(config.loader)))
    splits = split_source(source, config.dataset)
    train = splits["train"]
    source = source.fit(train)
    images = _draw_samples(source, train, config, samples) if source.layout == "image" else None
    plain = source.layout == "vector" and source.target == "class" and not source.columns
    report = DatasetReport(
        **dict(summarize(source, splits, config, target_facts(source, train, None))),
        given=tuple(sorted(source.parts)),
        bytes=sample_bytes(source) * len(source.targets),
        histograms=_histograms(source, train) if source.target in ("values", "ranks") else (),
        points=_points(source, train) if plain else None,
        thumbnails=images,
        place_counts=_count_pixels(images, len(source.classes)) if images and source.target == "mask" else (),
        table=table,
        class_choices=mark_kept(config.dataset, list_choices(config.dataset, source)),
    )
    return preview_text(report, source, train) if isinstance(source, Text) else report


def mark_kept(dataset: DatasetSection, choices: ClassCounts) -> tuple[ClassChoice, ...]:
    """All classes that there are, and which of them ``dataset`` keeps."""
    wanted = chosen_classes(dataset)
    return tuple(ClassChoice(name=name, samples=count, kept=not wanted or name in wanted) for name, count in choices)


def input_facts(config: RunConfig) -> DataFacts:
    """What a model is built for, without the statistics that only reading tells. Raises InputError as ``prepare`` does."""
    refuse_too_much_made(config)
    source = open_source(config.dataset, Opening(check=False))
    train = split_source(source, config.dataset)["train"]
    return target_facts(source.fit(train), train, None)


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


def _draw_samples(source: Source, train: Tensor, config: RunConfig, samples: int) -> tuple[Sample, ...]:
    masked = source.target == "mask"
    augment = Augmenter(config.dataset, config.seed, mask=masked)
    alike = source.targets if source.target == "class" else torch.zeros(len(source.targets), dtype=torch.int64)
    thumbnails: list[Sample] = []
    unreadable = 0
    for index in _one_of_each_class(alike, train):
        if len(thumbnails) == samples or unreadable > samples:
            break
        indices = torch.tensor([index])
        try:
            original = source.read(indices)
            pixels, mixture = _as_trained_on(augment, source, train, indices, original)
        except TrainingError:  # a file that training will leave out and list; here another one serves
            unreadable += 1
            continue
        pixels, original = _as_bytes(pixels, masked), _as_bytes(original, masked)
        shown, shown_original = (pixels[..., :-1], original[..., :-1]) if masked else (pixels, original)
        _, height, width, channels = shown.shape
        values = zip(source.classes, source.targets[index].tolist(), strict=True) if source.target == "values" else ()
        thumbnails.append(
            Sample(
                label=_label(source, index),
                index=index,
                width=width,
                height=height,
                channels=channels,
                pixels_base64=_base64(shown),
                original_base64=_base64(shown_original),
                mask_base64=_base64(pixels[..., -1]) if masked else None,
                original_mask_base64=_base64(original[..., -1]) if masked else None,
                detail=", ".join(f"{name} {value:.6g}" for name, value in values),
                varied_detail=mixture,
                name=source.name(index),
            )
        )
    return tuple(thumbnails)


def _as_trained_on(
    augment: Augmenter, source: Source, train: Tensor, indices: Tensor, original: Tensor
) -> tuple[Tensor, str]:
    """The one sample uint8 (1, H, W, C) as an epoch shows it, and of what it is mixed then."""
    if source.varies:
        original = source.read(source.at_epoch(indices, 1))
    pixels = _vary(augment, original, indices)
    if not augment.mixes:
        return pixels, ""
    other = augment.partners(train, indices, 1)
    mixed, share = augment.mix(pixels.float(), _vary(augment, source.read(other), other).float(), indices, 1)
    labels = _label(source, int(indices)), _label(source, int(other))
    return mixed.round().to(torch.uint8), f"{float(share):.0%} {labels[0]}, {1 - float(share):.0%} {labels[1]}"


def _vary(augment: Augmenter, original: Tensor, indices: Tensor) -> Tensor:
    """Erased places get the mean color of this very image: that of all is not known without reading all."""
    varied = original if augment.identity else augment(original, indices, 1)
    pixels = _as_bytes(varied, augment.mask)
    channels = pixels.shape[3] - augment.mask
    colors = pixels[..., :channels]
    erased = augment.erase(colors, indices, 1, colors.float().mean((0, 1, 2)))
    return torch.cat([erased, pixels[..., channels:]], 3)


def _as_bytes(pixels: Tensor, masked: bool) -> Tensor:
    """uint8 of what is drawn or given as float32 from 0 to 255; images that were normalized before are stretched to that, and of many
    channels, which no screen can show, the first is shown in gray."""
    colors, rest = (pixels[..., :-1], pixels[..., -1:]) if masked else (pixels, pixels[..., :0])
    if pixels.dtype != torch.uint8:
        low, high = float(colors.min()), float(colors.max())
        if low < -0.5 or high > 255.5 + 255 * 0.2:
            colors = (colors - low) * (255 / max(high - low, 1e-6))
        colors = colors.round().clamp(0, 255).to(torch.uint8)
    if colors.shape[-1] not in (1, 3, 4):
        colors = colors[..., :1]
    return torch.cat([colors, rest.to(torch.uint8)], dim=-1)


def _label(source: Source, index: int) -> str:
    """What is to be learned of an image, in few words; the name of one that has a mask."""
    target = source.targets[index]
    if source.target == "class":
        return source.classes[int(target)]
    if source.target == "labels":
        return ", ".join(name for name, on in zip(source.classes, target.tolist(), strict=True) if on) or "no label"
    if source.target in ("values", "tasks"):
        classes = source.target_classes or ((),) * len(target)
        shown = zip(target.tolist(), classes, strict=True)
        return ", ".join(names[int(value)] if names else f"{value:.3g}" for value, names in shown)
    return PurePosixPath(source.name(index)).stem


def _count_pixels(images: tuple[Sample, ...], classes: int) -> tuple[int, ...]:
    """How many pixels of each class are shown."""
    masks = b"".join(base64.b64decode(image.original_mask_base64 or "") for image in images)
    return tuple(np.bincount(np.frombuffer(masks, np.uint8), minlength=classes)[:classes].tolist())


def _one_of_each_class(targets: Tensor, train: Tensor) -> Iterator[int]:
    """Training samples in an order that goes round the classes, shuffled within each."""
    shuffled = train[counter_rng.permutation(0, 0, len(train), stream="thumbnails")]
    classes, order = torch.sort(targets[shuffled], stable=True)
    counts = torch.bincount(classes)
    turn = torch.arange(len(classes)) - (torch.cumsum(counts, 0) - counts)[classes]  # a sample's place in its class
    for place in torch.sort(turn, stable=True).indices:  # of one turn: by class
        yield int(shuffled[order[place]])


def _base64(pixels: Tensor) -> str:
    return base64.b64encode(pixels.contiguous().numpy().tobytes()).decode("ascii")


_WINDOWS = 3
_TOKENS_SHOWN = 128
_COUNTED = 2000
_FREQUENT = 10


def preview_text(report: DatasetReport, source: Text, train: Tensor) -> DatasetReport:
    """With some training windows in any order, the first tokens of each, how many tokens each part has, as far as it was read,
    and those seen most often in up to 2,000 training windows."""
    vocabulary = vocabulary_of(source_facts(source))
    # Of a large text a preview has read the beginning only.
    here = train[train < source.held_windows]
    shuffled = here[counter_rng.permutation(0, 0, len(here), stream="texts")][:_WINDOWS]
    texts = tuple(
        TextWindow(name=source.name(index), tokens=tuple(map(vocabulary.show, window[:_TOKENS_SHOWN])))
        for index, window in zip(shuffled.tolist(), source.read(shuffled).tolist(), strict=True)
    )
    some = here[torch.arange(min(len(here), _COUNTED)) * len(here) // min(len(here), _COUNTED)]
    counts = torch.bincount(source.read(some)[:, 1:].reshape(-1).long(), minlength=len(source.classes))
    total = int(counts.sum())
    order = torch.sort(counts, descending=True, stable=True).indices[:_FREQUENT].tolist()
    frequent = [TokenShare(name=vocabulary.show(token), share=int(counts[token]) / total) for token in order]
    told = {"texts": texts, "vocabulary": source.vocabulary, "token_counts": source.token_counts}
    return report.model_copy(update={**told, "frequent": tuple(each for each in frequent if each.share)})
