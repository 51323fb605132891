"""Data given as a path in place of a run's own: how it is to be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from training.config.sections.data.dataset import IdxDataset, ImageFolderDataset
from training.config.sections.data.dataset_section import DatasetSection
from training.config.sections.data.images import ImageTableDataset, SegmentationDataset
from training.config.sections.data.npz import NpzDataset, NpzImagesDataset
from training.data.sources.idx import IDX_FORMS
from training.errors import InputError
from training.facts import DataFacts
from training.system.untrusted import escape_unprintable


def choose_section(dataset: DatasetSection, facts: DataFacts, path: Path) -> DatasetSection:
    """The run's own section with another path where it reads such a file or folder, else the one of its kind that does."""
    kind = _find_kind(facts, path)
    changes: dict[str, Any] = {"path": str(path)}
    sizes = tuple(facts.shape[1:])
    if kind in (ImageFolderDataset, ImageTableDataset, SegmentationDataset):
        changes |= {"image_size": sizes, "color": "rgb" if facts.shape[0] == 3 else "grey"}
    for setting in ("classes", "exclude", "split_column", "validation_path", "test_path"):
        if setting in type(dataset).model_fields:
            changes[setting] = () if setting == "classes" else None
    if kind is SegmentationDataset and isinstance(dataset, SegmentationDataset):
        changes |= _keep_class_list(dataset)
    if isinstance(dataset, kind):
        return dataset.model_copy(update=changes)
    if kind is ImageTableDataset:
        raise refuse_given(path, "is a file, but the run's images lie in a folder; give such a folder")
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
        raise refuse_given(path, "is none of the files or folders that such data is read from")
    if path.is_file():
        return NpzImagesDataset if path.suffix.lower() == ".npz" else ImageTableDataset
    if facts.target == "mask":
        return SegmentationDataset
    if any(form in file.name for file in path.iterdir() for form in IDX_FORMS):
        return IdxDataset
    return ImageFolderDataset


def refuse_given(path: Path, what: str) -> InputError:
    """The error that says what is wrong with the data in ``path``, a clause."""
    return InputError(f"--on {show_given(path)}: {what}.", "Nothing was evaluated.")


def show_given(path: Path) -> str:
    """As it can be printed."""
    return escape_unprintable(str(path), 300)
