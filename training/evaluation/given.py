"""Data given as a path: opened as the run's own kind, with the run's classes, codes and vocabulary, or refused by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from training.config import RunConfig
from training.data.batching.batches import Data
from training.data.batching.resident import Resident
from training.data.batching.streamed import BatchFeed, Streamed
from training.data.given_section import choose_section, refuse_given, show_given
from training.data.images.cache_room import cache_wish
from training.data.normalize import Normalization
from training.data.placement import measure_room, place
from training.data.preparation import sample_bytes, summarize
from training.data.source import Opening, ReportProgress, Source
from training.data.sources import open_source
from training.data_report import DataReport, InputStats
from training.errors import InputError, list_first
from training.evaluation.given_queries import open_queries
from training.evaluation.given_rows import open_rows
from training.evaluation.given_text import open_given_text
from training.evaluation.opening import GIVEN, Measurable, read_facts
from training.facts import DataFacts, Target
from training.predictions.record import PARTS
from training.system.untrusted import escape_unprintable
from training.typed_paths import parse_path

_NAMED = 5
_SETTING = re.compile(r"^(dataset\.\w+|--on): ")
_TRUTHS: dict[Target, str] = {
    "class": "one class each",
    "labels": "several labels each",
    "values": "numbers",
    "mask": "masks",
    "tokens": "the next token",
    "ranks": "ranks",
    "tasks": "several targets",
}
"""What there is to learn of samples, in words."""


@dataclass(frozen=True, eq=False)
class GivenData:
    """The samples in ``path``, all of them one part; hands them to a session as its data (``training.data.prepared.Preparing``)."""

    path: Path
    source: Source
    facts: DataFacts
    normalization: Normalization
    notes: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """A digest of the content."""
        return self.source.fingerprint

    def prepare(
        self,
        config: RunConfig,
        device: torch.device,
        report_progress: ReportProgress,
        code: Path | None = None,
        excluded: Path | None = None,
    ) -> Data:
        """As ``training.data.prepare``."""
        source, loader = self.source, config.loader
        size = sample_bytes(source) * len(source.targets)
        what = {"image": "images", "tokens": "tokens"}.get(source.layout, "numbers")
        placement = place(size, what, loader, measure_room(loader, device))
        feed: BatchFeed
        if placement.mode == "resident":
            report_progress("loading the samples", None)
            feed = Resident(source.read_all().to(device))
        else:
            feed = Streamed(source, device, loader.workers or 0, loader.prefetch_factor)
        every = torch.arange(len(source.targets))
        splits = {"train": every, GIVEN: every}
        inputs = InputStats(mean=self.normalization.mean, std=self.normalization.std)
        summary = dict(summarize(source, splits, config, self.facts))
        report = DataReport(**summary, normalisation=inputs, batches=placement)
        return Data(config, source, self.facts, splits, self.normalization, feed, device, report)


def open_given(measurable: Measurable, path: Path, report_progress: ReportProgress) -> GivenData:
    """Raises InputError, naming what differs, where the samples in ``path`` are none that the network of ``measurable`` takes."""
    path = parse_path(path).absolute()
    if not path.exists():
        raise InputError(
            f"--on {show_given(path)}: there is no such file or folder; check the path, or name a part: {', '.join(PARTS)}."
        )
    try:
        return _open_given(measurable, path, report_progress)
    except InputError as error:
        if (fault := _find_fault(error.message, path)) is None:
            raise
        raise refuse_given(path, fault) from error


def _find_fault(message: str, path: Path) -> str | None:
    """The clause of a ``message`` that speaks of the settings, or of the file, where these samples were named otherwise; None of another."""
    what = _SETTING.sub("", message)
    for begun in (f"{show_given(path)} ", f"{show_given(path)}: "):
        what = what.removeprefix(begun)
    return None if what == message else what.rstrip(".")


def _open_given(measurable: Measurable, path: Path, report_progress: ReportProgress) -> GivenData:
    facts, config = read_facts(measurable), measurable.config
    known = measurable.manifest.data
    normalization = Normalization(tuple(known.mean), tuple(known.std), facts.layout, known.missing)
    notes: tuple[str, ...] = ()
    if facts.layout == "tokens":
        source: Source
        source, notes = open_given_text(config.dataset, facts, path, report_progress)
    elif facts.layout == "vector" and path.suffix.lower() != ".npz":
        source, notes = open_rows(measurable.checkpoint, config.dataset, facts, path)
    elif facts.layout == "list":
        source, notes = open_queries(measurable.checkpoint, config.dataset, facts, path)
    else:
        source = _open_samples(config, facts, path, report_progress)
    return GivenData(path, source, facts, normalization, notes)


def _open_samples(config: RunConfig, facts: DataFacts, path: Path, report_progress: ReportProgress) -> Source:
    opening = Opening(
        seed=config.seed,
        keep=lambda size: size <= measure_room(config.loader, torch.device("cpu")).host,
        workers=config.loader.workers,
        cache=cache_wish(config.loader),
        report_progress=report_progress,
        least_classes=1,
    )
    source = open_source(choose_section(config.dataset, facts, path), opening)
    if source.target != facts.target or source.layout != facts.layout:
        raise refuse_given(
            path, f"holds {source.layout}s with {_TRUTHS[source.target]}, but the run learned {_TRUTHS[facts.target]}"
        )
    source = source.fit(torch.arange(len(source.targets)))
    if tuple(source.shape) != tuple(facts.shape):
        given, taken = (" x ".join(map(str, each)) for each in (source.shape, facts.shape))
        sides = " (channels, height, width)" if facts.layout == "image" else " numbers"
        raise refuse_given(path, f"has samples of {given}{sides}, but the network takes {taken}")
    _take_names(source, facts, path)
    return source


def _take_names(source: Source, facts: DataFacts, path: Path) -> None:
    """Number the classes as the network does."""
    names, known = source.classes, facts.names
    if facts.target == "class":
        refuse_unknown_classes(names, known, path)
        places = torch.tensor([known.index(name) for name in names])
        source.targets = places[source.targets]
    elif facts.target == "mask":
        if names != known[: len(names)]:
            refuse_unknown_classes(names, known, path)
            raise refuse_given(
                path, "numbers the classes in another order than the run's masks; give both the same class list"
            )
    elif names != known:
        given, wanted = (", ".join(map(escape_unprintable, each[:_NAMED])) for each in (names, known))
        raise refuse_given(path, f"tells {given}, but the network answers {wanted}")
    source.classes = known


def refuse_unknown_classes(names: Sequence[str], known: Sequence[str], path: Path) -> None:
    """Raise InputError for classes that the network does not know."""
    foreign = [name for name in names if name not in frozenset(known)]
    if foreign:
        shown = list_first([f"'{escape_unprintable(name, 60)}'" for name in foreign[:_NAMED]], len(foreign))
        has = ", ".join(escape_unprintable(name, 60) for name in known[:_NAMED]) + (
            ", ..." if len(known) > _NAMED else ""
        )
        word = "class" if len(foreign) == 1 else "classes"
        raise refuse_given(path, f"has the {word} {shown}, which the network does not know: it knows {has}")
