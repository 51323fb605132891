"""Data given as a path: opened as the run's own kind, with the run's classes, codes and vocabulary, or refused by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from training.config import RunConfig
from training.config.sections.data.dataset import IdxDataset, ImageFolderDataset
from training.config.sections.data.dataset_section import DatasetSection
from training.config.sections.data.images import ImageTableDataset, SegmentationDataset
from training.config.sections.data.npz import NpzDataset, NpzImagesDataset
from training.data.batching.batches import Data
from training.data.batching.resident import Resident
from training.data.batching.streamed import BatchFeed, Streamed
from training.data.images.cache_room import cache_wish
from training.data.normalize import Normalization
from training.data.placement import measure_room, place
from training.data.prepare import sample_bytes, summarize
from training.data.source import Opening, ReportProgress, Source
from training.data.sources import open_source
from training.data.sources.idx import IDX_FORMS
from training.data_report import DataReport, InputStats
from training.errors import InputError
from training.evaluation.given_rows import open_rows
from training.evaluation.given_text import open_given_text
from training.evaluation.opening import GIVEN, Measurable, read_facts
from training.facts import DataFacts
from training.system.untrusted import escape_unprintable

_NAMED = 5


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
    path = path.expanduser().absolute()
    if not path.exists():
        raise InputError(f"--on {_show(path)}: there is no such file or folder; check the path.")
    facts, config = read_facts(measurable), measurable.config
    known = measurable.manifest.data
    normalization = Normalization(tuple(known.mean), tuple(known.std), facts.layout, known.missing)
    notes: tuple[str, ...] = ()
    if facts.layout == "tokens":
        source: Source = open_given_text(config.dataset, facts, path, report_progress)
    elif facts.layout == "vector" and path.suffix.lower() != ".npz":
        source, notes = open_rows(measurable.checkpoint, config.dataset, facts, path)
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
    )
    source = open_source(_choose_section(config.dataset, facts, path), opening)
    if source.target != facts.target or source.layout != facts.layout:
        raise _refusal(path, f"holds {source.layout}s to learn {source.target} of, but the run learned {facts.target}")
    source = source.fit(torch.arange(len(source.targets)))
    if tuple(source.shape) != tuple(facts.shape):
        given, taken = (" x ".join(map(str, each)) for each in (source.shape, facts.shape))
        sides = " (channels, height, width)" if facts.layout == "image" else " numbers"
        raise _refusal(path, f"has samples of {given}{sides}, but the network takes {taken}")
    _take_names(source, facts, path)
    return source


def _choose_section(dataset: DatasetSection, facts: DataFacts, path: Path) -> DatasetSection:
    """The run's own section with another path where it reads such a file or folder, else the one of its kind that does."""
    kind = _find_kind(facts, path)
    changes: dict[str, Any] = {"path": str(path)}
    sizes = tuple(facts.shape[1:])
    if kind in (ImageFolderDataset, ImageTableDataset, SegmentationDataset):
        changes |= {"image_size": sizes, "color": "rgb" if facts.shape[0] == 3 else "grey"}
    for setting in ("classes", "exclude", "split_column", "validation_path"):
        if setting in type(dataset).model_fields:
            changes[setting] = () if setting == "classes" else None
    if kind is SegmentationDataset and isinstance(dataset, SegmentationDataset):
        changes |= _keep_class_list(dataset)
    if isinstance(dataset, kind):
        return dataset.model_copy(update=changes)
    if kind is ImageTableDataset:
        raise _refusal(path, "is a table, but the run's images come without one; give a folder")
    made: DatasetSection = kind(path=str(path))  # type: ignore[call-arg]  # each of them has one
    return made.model_copy(update={name: value for name, value in changes.items() if name in kind.model_fields})


def _keep_class_list(dataset: SegmentationDataset) -> dict[str, Any]:
    """The classes that the run's own masks were read by; and where the files lie is looked for in the other folder."""
    listed = Path(dataset.path) / "classes.txt"
    places = ("train_images", "train_masks", "validation_images", "validation_masks", "test_images", "test_masks")
    changes: dict[str, Any] = dict.fromkeys(places, "")
    if dataset.class_list is None and not dataset.class_names and listed.is_file():
        changes["class_list"] = str(listed)
    return changes


def _find_kind(facts: DataFacts, path: Path) -> type[DatasetSection]:
    if facts.layout == "vector":
        return NpzDataset
    if facts.layout != "image":
        raise _refusal(path, "cannot be taken: only the parts of its own data can be ranked by this version")
    if path.is_file():
        return NpzImagesDataset if path.suffix.lower() == ".npz" else ImageTableDataset
    if facts.target == "mask":
        return SegmentationDataset
    if any(form in file.name for file in path.iterdir() for form in IDX_FORMS):
        return IdxDataset
    return ImageFolderDataset


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
            raise _refusal(
                path, "numbers the classes in another order than the run's masks; give both the same class list"
            )
    elif names != known:
        given, wanted = (", ".join(map(escape_unprintable, each[:_NAMED])) for each in (names, known))
        raise _refusal(path, f"tells {given}, but the network answers {wanted}")
    source.classes = known


def refuse_unknown_classes(names: Sequence[str], known: Sequence[str], path: Path) -> None:
    """Raise InputError for classes that the network does not know."""
    foreign = [name for name in names if name not in frozenset(known)]
    if foreign:
        shown = ", ".join(f"'{escape_unprintable(name, 60)}'" for name in foreign[:_NAMED])
        more = f" and {len(foreign) - _NAMED} more" if len(foreign) > _NAMED else ""
        has = ", ".join(escape_unprintable(name, 60) for name in known[:_NAMED]) + (
            ", ..." if len(known) > _NAMED else ""
        )
        word = "class" if len(foreign) == 1 else "classes"
        raise _refusal(path, f"has the {word} {shown}{more}, which the network does not know: it knows {has}")


def _refusal(path: Path, what: str) -> InputError:
    return InputError(f"--on {_show(path)}: {what}.", "Nothing was evaluated.")


def _show(path: Path) -> str:
    return escape_unprintable(str(path), 300)
