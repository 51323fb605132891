"""From ``[dataset]`` and ``[loader]`` to the batches of a run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from training.config import RunConfig
from training.config.rules.task import task_problems
from training.config.sections.data.dataset_section import PartsSection
from training.data.batching.batches import Data
from training.data.batching.resident import Notice, Resident
from training.data.batching.streamed import BatchFeed, Streamed
from training.data.batching.workers import give_back_processes
from training.data.duplicates import without_duplicates
from training.data.exclude import leave_out
from training.data.images.cache_room import cache_wish
from training.data.moments import describe_periods
from training.data.normalize import find_ranges, leave, measure
from training.data.placement import measure_room, place, refuse_too_much_made
from training.data.source import Opening, ReportProgress, Source, silent, throttle
from training.data.sources import open_source
from training.data.splits import split_source
from training.data.tables.targets import refuse_nothing_to_learn, target_facts
from training.data_report import DataReport, DataSummary, InputStats, Placement
from training.errors import ConfigError, pluralize
from training.facts import DataFacts, Target
from training.system.hardware import core_count

_SHOWN = 1000
_MOST_WORKERS = 8
_SLOW_READING = 0.0002  # seconds a sample: below, sending it between processes costs more than reading it
_PROBED = 32


def prepare(
    config: RunConfig,
    device: torch.device,
    report_progress: ReportProgress = silent,
    code: Path | None = None,
    excluded: Path | None = None,
    listed: Mapping[str, str] | None = None,
) -> Data:
    """Open, check, split and place the data. Raises InputError, in one sentence, when it cannot be trained on.

    ``report_progress(text, fraction)`` is told what is going on, ``fraction`` None while it cannot be known. ``code`` is the run's copy
    of a Dataset that a person wrote, ``excluded`` that of its exclude list, ``listed`` what was read of that already.
    """
    refuse_too_much_made(config)
    loader = config.loader
    room = measure_room(loader, device)

    def keep(size: int) -> bool:
        resident = place(size, "images", loader, room).mode == "resident"
        return resident or (loader.mode == "auto" and size <= room.host)  # what is too large for the GPU may fit here

    notices: list[Notice] = []
    opening = Opening(
        seed=config.seed,
        code=code,
        keep=keep,
        workers=loader.workers,
        cache=cache_wish(loader),
        tell=notices.append,
        report_progress=report_progress,
    )
    source = open_source(config.dataset, opening)
    require_task(config, source.target)
    splits = split_source(source, config.dataset)
    splits = leave_out(source, splits, config.dataset, excluded, report_progress, listed)
    source = source.fit(splits["train"])
    size = sample_bytes(source) * len(source.targets)
    placement = place(size, {"image": "images", "tokens": "tokens"}.get(source.layout, "numbers"), loader, room)
    if source.varies:
        placement = Placement(
            mode="streamed", bytes=size, reason="samples are read while training, since they may differ in each epoch"
        )
    feed: BatchFeed
    read: Callable[[torch.Tensor], torch.Tensor] = source.read
    if placement.mode == "resident":
        give_back_processes()
        report_progress("loading the samples", None)
        samples = source.read_all().to(device)

        def gather(some: torch.Tensor) -> torch.Tensor:
            return samples.index_select(0, some.to(device)).cpu()

        feed, read = Resident(samples), gather
    report_progress("measuring the samples", None)
    splits, notes = _without_duplicates(config, source, splits, read)
    train = splits["train"]
    facts = target_facts(source, train, read)
    if source.as_given:
        normalization = leave(facts)
    else:
        normalization = measure(_tell_measuring(read, train, report_progress), train, facts, source.gaps)
    if not facts.ranges and source.reading == "memory" and not source.runs_own_code:
        facts = replace(facts, ranges=find_ranges(read, train, facts))
    if placement.mode == "streamed":
        workers, how = _workers(source, loader.workers)
        placement = placement.model_copy(update={"workers": workers, "reason": f"{placement.reason}; {how}"})
        feed = Streamed(source, device, workers, loader.prefetch_factor)
    refuse_nothing_to_learn(facts, source.targets[splits["train"]])
    notices += source.take_notices()
    feed.notices = notices  # what opening the data had to say, and whatever reading it will
    if source.supply:
        placement = placement.model_copy(update={"reason": f"{placement.reason}; {source.supply}"})
    inputs = InputStats(mean=normalization.mean, std=normalization.std)
    report = DataReport(
        **dict(summarize(source, splits, config, facts, notes)), normalisation=inputs, batches=placement
    )
    return Data(config, source, facts, splits, normalization, feed, device, report)


def _tell_measuring(
    read: Callable[[torch.Tensor], torch.Tensor], train: torch.Tensor, report_progress: ReportProgress
) -> Callable[[torch.Tensor], torch.Tensor]:
    """``read`` that tells every second how far the two passes over ``train`` are that measuring takes."""
    done, report_progress = 0, throttle(report_progress, 1.0, time.monotonic())

    def tell(some: torch.Tensor) -> torch.Tensor:
        nonlocal done
        samples = read(some)
        done += len(some)
        # Never as whole, which would be told at once: a small set is measured before anybody asks.
        report_progress("measuring the samples", min(done / (2 * len(train)), 0.99))
        return samples

    return tell


def require_task(config: RunConfig, target: Target) -> None:
    """Raise ConfigError where the data turned out to be none for the objective or the model: the settings alone do not
    always tell."""
    problems = list(task_problems(config, target)) if config.dataset.target is None else []
    if problems:
        raise ConfigError(problems)


def _without_duplicates(
    config: RunConfig, source: Source, splits: dict[str, torch.Tensor], read: Callable[[torch.Tensor], torch.Tensor]
) -> tuple[dict[str, torch.Tensor], list[str]]:
    """What the settings leave of ``splits``, and what there is to say."""
    dataset = config.dataset
    if not isinstance(dataset, PartsSection) or dataset.duplicates == "keep":
        return splits, []
    splits, dropped = without_duplicates(source, splits, read)
    return splits, [
        f"{pluralize(dropped, 'held-out sample')} removed, since they are trained on, too"
    ] if dropped else []


def summarize(
    source: Source,
    splits: dict[str, torch.Tensor],
    config: RunConfig,
    facts: DataFacts,
    notes: Sequence[str] = (),
) -> DataSummary:
    """What there is to say of the samples; ``notes`` come after those of the source."""
    periods = describe_periods(source.moments, splits, config.dataset) if source.moments is not None else []
    return DataSummary(
        kind=config.dataset.kind,
        layout=source.layout,
        target=source.target,
        classes=source.classes,
        class_count=len(source.classes),
        counts={part: _counts(source, indices) for part, indices in splits.items()},
        target_mean=facts.target_mean,
        target_std=facts.target_std,
        samples={part: len(indices) for part, indices in splits.items()},
        shape=source.shape,
        skipped=source.skipped[:_SHOWN],
        skipped_total=len(source.skipped),
        notes=(*source.notes, *periods, *notes),
        excluded=source.excluded,
        fingerprint=source.fingerprint,
    )


def _counts(source: Source, indices: torch.Tensor) -> tuple[int, ...]:
    if source.target == "class":
        return tuple(torch.bincount(source.targets[indices], minlength=len(source.classes)).tolist())
    return tuple(map(int, source.targets[indices].sum(0).tolist())) if source.target == "labels" else ()


def sample_bytes(source: Source) -> int:
    """Memory of one sample: bytes of images and their mask, float32 of vectors and lists, tokens as they are read."""
    if source.layout == "image":
        channels, height, width = source.shape
        return (channels + (source.target == "mask")) * height * width * (4 if source.float_pixels else 1)
    return (
        source.read(torch.zeros(1, dtype=torch.int64)).nbytes
        if source.layout == "tokens"
        else 4 * math.prod(source.shape)
    )


def _reader(source: Source) -> str:
    """Who reads where no workers do."""
    return "the process that trains reads them" if source.runs_own_code else "a thread reads them ahead"


def _workers(source: Source, asked: int | None) -> tuple[int, str]:
    """How many worker processes read, and why."""
    if asked is not None:
        return asked, f"{asked} workers read them, as the settings ask" if asked else _reader(source)
    if source.reading != "files":
        return 0, "a thread reads them ahead, since they need no decoding"
    some = torch.arange(0, len(source.targets), max(1, len(source.targets) // _PROBED))
    began = time.perf_counter()
    source.read(some)
    each = (time.perf_counter() - began) / len(some)
    cores = core_count()
    if cores < 4 or each < _SLOW_READING:
        return 0, f"{_reader(source)}, since workers would cost more than they give here"
    workers = min(cores - 1, _MOST_WORKERS)
    return workers, f"{workers} workers read them, since decoding takes {1000 * each:.2g} ms each"
