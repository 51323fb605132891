"""``[dataset]`` of a torch ``Dataset`` that the person wrote."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from training.config.fields import setting
from training.config.rules.signature import DATASET
from training.config.sections.data.dataset_section import PartsSection
from training.config.sections.data.tables import Task
from training.config.sections.loader import Loader
from training.config.sections.own_file import Argument, OwnFile
from training.errors import Problem

_TARGETS = "Auto looks at the first targets: one whole number each is a class, several whole numbers are labels, other numbers are values"


class OwnDataSection(PartsSection, OwnFile):
    """A Dataset of your own: a Python file with a function build(split, ...) that returns it."""

    purpose = DATASET

    path: str = setting(
        title="Python file",
        help='A file that defines build(split, ...), which returns a torch.utils.data.Dataset for split "train" and "validation"; '
        "None for validation holds samples of the first out. Its other parameters become settings here. A function "
        "collate_fn(samples) in the file makes the batches.",
        path="file",
        min_length=1,
    )
    arguments: dict[str, Argument] = setting(
        {}, "Arguments of build()", "What build(...) is called with, besides the split."
    )
    random_samples: bool = setting(
        True,
        "Random samples",
        "On: __getitem__ may draw random numbers (augmentation), so samples are asked for in each epoch; torch's, Python's and NumPy's "
        "generators are seeded for each by seed, epoch and index. Off: they are always the same, are read once, and stay in "
        "memory where they fit.",
        also="augmentation deterministic",
    )
    normalize: bool = setting(
        True,
        "Normalize inputs",
        "Give the network inputs of mean 0 and std 1 by the training samples' own. Off: as the Dataset gives them, which may "
        "normalize by itself. What a collate_fn makes stays as it is.",
        also="normalization standardize",
    )


class OwnDataset(OwnDataSection):
    """Vectors or other arrays of numbers with their targets."""

    layout = "vector"
    called = "numbers"

    kind: Literal["user_dataset"] = "user_dataset"
    task: Task = setting("auto", help=f"{_TARGETS}.")


class OwnImageDataset(OwnDataSection):
    """Images (PIL, uint8, or float from 0 to 1) with their targets."""

    layout = "image"
    called = "images"

    kind: Literal["user_images"] = "user_images"
    task: Literal["auto", "class", "labels", "values", "mask"] = setting(
        "auto",
        "Task",
        f"{_TARGETS}, and as many whole numbers as pixels are a mask of class numbers, 255 being no class.",
    )


OWN_DATA = ("user_dataset", "user_images")
"""Both kinds."""


def own_data_problems(dataset: OwnDataSection, loader: Loader) -> Iterator[Problem]:
    """Samples that differ from epoch to epoch cannot be kept."""
    if dataset.random_samples and loader.mode == "resident":
        what = "samples that may differ in each epoch (dataset.random_samples) cannot be kept in memory; choose auto, or switch that off"
        yield Problem("loader.mode", f"{what}.", {"loader.mode": "auto"})
