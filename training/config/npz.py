"""``[dataset]`` of NumPy archives."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from training.config.dataset_section import PartsSection
from training.config.fields import Section, setting
from training.config.image_section import GivenSplitSection
from training.facts import Target

Array = Annotated[str, Field(min_length=1, max_length=200)]


class NpzSection(Section):
    """The file, and which of its arrays is what."""

    path: str = setting(
        title="File", help="An .npz file, as numpy.savez writes it, compressed or not.", path="file", min_length=1
    )
    inputs: Array = setting(
        "x",
        title="Inputs",
        help="Name of the array of samples. With x_train there may also be x_val and x_test, with their targets.",
    )
    targets: Array = setting("y", title="Targets", help="Name of the array of targets, one for each sample.")


class NpzDataset(PartsSection, NpzSection):
    """Vectors in a NumPy archive."""

    layout = "vector"
    called = "numbers"
    suits = ("tabular",)

    kind: Literal["npz"] = "npz"
    task: Literal["auto", "values", "labels", "class"] = setting(
        "auto",
        title="Task",
        help="auto looks at the targets: one whole number or text each is a class, columns of 0 and 1 are labels, other numbers "
        "are values.",
    )

    @property
    def target(self) -> Target | None:
        return None if self.task == "auto" else self.task


class NpzPicturesDataset(GivenSplitSection, NpzSection):
    """Pictures in a NumPy archive."""

    kind: Literal["npz_pictures"] = "npz_pictures"
    task: Literal["auto", "values", "labels", "mask", "class"] = setting(
        "auto",
        title="Task",
        help="auto looks at the targets: one whole number or text each is a class, columns of 0 and 1 are labels, other numbers "
        "are values, and as many numbers as pixels are a mask of class numbers, 255 being no class.",
    )

    @property
    def target(self) -> Target | None:
        return None if self.task == "auto" else self.task
