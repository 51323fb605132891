"""``[dataset]`` of NumPy archives."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from training.config.fields import File, Section, setting
from training.config.sections.data.classes import Classes
from training.config.sections.data.dataset_section import PartsSection
from training.config.sections.data.image_section import GivenSplitSection
from training.config.sections.data.tables import Task

Array = Annotated[str, Field(min_length=1, max_length=200)]

_TARGETS = "Auto looks at the targets: one whole number or text each is a class, columns of 0 and 1 are labels, other numbers are values"


class NpzSection(Section):
    """The file, and which of its arrays is what."""

    path: File = setting(title="NPZ file", help="An .npz file, as numpy.savez writes it, compressed or not.")
    inputs: Array = setting(
        "x",
        "Input array",
        "Name of the array of samples. Beside x_train there may be x_val and x_test, with their targets.",
    )
    targets: Array = setting("y", "Target array", "Name of the array of targets, one for each sample.")


class NpzDataset(PartsSection, NpzSection):
    """Vectors and their targets in an .npz file."""

    layout = "vector"
    called = "numbers"
    suits = ("tabular",)

    kind: Literal["npz"] = "npz"
    task: Task = setting("auto", help=f"{_TARGETS}.")
    classes: Classes = ()


class NpzImagesDataset(GivenSplitSection, NpzSection):
    """Images and their classes, labels, values or masks in an .npz file."""

    kind: Literal["npz_pictures"] = "npz_pictures"
    task: Literal["auto", "class", "labels", "values", "mask"] = setting(
        "auto", "Task", f"{_TARGETS}, and as many numbers as pixels are a mask of class numbers, 255 being no class."
    )
    classes: Classes = ()
