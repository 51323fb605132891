"""``[dataset]`` of images beyond plain folders: with a table, with masks."""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated, Any, ClassVar, Literal

from training.config.fields import Columns, File, Folder, Names, advanced, setting
from training.config.sections.data.classes import Classes
from training.config.sections.data.dataset_section import ColorMode
from training.config.sections.data.image_section import GivenSplitSection, ImageSize, Sides
from training.config.sections.data.tables import (
    Column,
    ColumnTask,
    GroupColumn,
    NumericTargets,
    SplitColumn,
    TimeColumn,
)
from training.facts import Target

IMAGE_FOLDERS = frozenset({"images", "image", "imgs", "img", "pictures", "jpegimages"})
MASK_FOLDERS = frozenset({"masks", "mask", "labels", "label", "annotations", "segmentationclass", "gt"})
"""What the two folders of a segmentation dataset may be called, lower case."""


Files = Annotated[str, setting(also="folder pattern glob list file names", placeholder="automatic", max_length=1000)]
"""Images or masks in the folder of a dataset: a folder, a pattern or a list, relative to it."""


def _part(title: str, what: str) -> Any:
    return advanced("", title, f"Where those are {what}.")


class ImageTableDataset(GivenSplitSection):
    """Images, and a CSV or Parquet file with the class, the labels or the values of each."""

    called = "images with a table"

    kind: Literal["image_table"] = "image_table"
    path: File = setting(title="Table file", help="A CSV or Parquet file with a row for each image.")
    images: str | None = setting(
        None,
        "Image folder",
        "The folder from which the table names its files. Empty: the folder in which the table lies.",
        path="folder",
        placeholder="the table's folder",
    )
    file_column: Column | None = setting(
        None, "File column", "The column that names the image files.", placeholder="automatic", columns=True
    )
    targets: Columns = setting(
        (),
        "Target",
        "The column to predict: a class, a number, or several columns of numbers, or of 0 and 1 for labels.",
        also="label y",
        placeholder="the last column",
        mostly_one=True,
        max_length=10_000,
    )
    task: ColumnTask = "auto"
    classes: Classes = ()
    numeric_targets: NumericTargets = ()
    label_separator: Literal["none", "space", ",", ";", "|"] = setting(
        "none",
        "Label separator",
        "What stands between several labels in one cell of the target column. None: one a cell.",
    )
    image_size: ImageSize = None
    file_ending: str = advanced(
        "",
        "File extension",
        "What the table leaves out at the end of each file's name, for example .jpg.",
        also="file ending",
        placeholder="none",
        max_length=20,
    )
    split_column: SplitColumn = None
    group_column: GroupColumn = None
    time_column: TimeColumn = None
    color: ColorMode = "rgb"

    @property
    def target(self) -> Target | None:
        return "labels" if self.label_separator != "none" else super().target


class SegmentationDataset(GivenSplitSection):
    """A folder of images and one of masks that say for each pixel what it shows."""

    called = "images with masks"
    # Two masks cannot be mixed, so there are no settings for it.
    mixup_alpha: ClassVar[float] = 0.0  # type: ignore[misc]
    cutmix_alpha: ClassVar[float] = 0.0  # type: ignore[misc]
    teaches = "mask"

    kind: Literal["segmentation"] = "segmentation"
    path: Folder = setting(
        help="Folder with images and masks, or with train and val folders that hold those; how they are laid out is found by their names.",
    )
    train_images: Files = setting(
        "",
        "Training images",
        "Where they are in the folder: a folder (train), a pattern (*_image.png), or a list with an image and its mask, or the name of "
        "both, a line (train.txt). They may lie elsewhere: write the whole path. Empty: looked for.",
    )
    train_masks: Files = setting(
        "",
        "Training masks",
        "Where the masks of the training images are: a folder in which they are called alike (trainannot), or a pattern "
        "({name}_mask.png, masks/{name}.png). They may lie elsewhere: write the whole path. Empty: looked for.",
    )
    class_list: str | None = setting(
        None,
        "Class list file",
        "A text file with one class a line, in the order of their indices: its name, for color masks followed by red, green "
        "and blue. Empty: classes.txt in the folder, else the indices in the masks.",
        path="file",
        placeholder="classes.txt",
    )
    class_names: Names = setting(
        (),
        "Class names",
        "The classes in the order of their indices, in place of a file: road, sky. For color masks with red, green and blue: "
        "road 128 64 128, sky 70 130 180.",
        also="colors colours palette",
        placeholder="automatic",
        strict=False,
        max_length=255,
    )
    image_size: Sides = ()
    validation_images: Files = _part("Validation images", "to validate on, as the training images")
    validation_masks: Files = _part("Validation masks", "to validate on, as the training masks")
    test_images: Files = _part("Test images", "to test on, as the training images")
    test_masks: Files = _part("Test masks", "to test on, as the training masks")
    ignore_index: int | None = setting(
        None,
        "Ignore index",
        "The index in the masks, or place in the class list from 0, of pixels that are ignored in the loss. 255 "
        "always is.",
        also="index to ignore",
        placeholder="255 only",
        ge=0,
        le=255,
    )
    unknown: Literal["leave_out", "ignore"] = advanced(
        "leave_out",
        "Mask values without a class",
        "Skip image: an image whose mask holds another index or color than the classes' is skipped and listed. Ignore pixels: "
        "only such pixels are ignored.",
        also="unknown values",
        labels={"leave_out": "Skip image", "ignore": "Ignore pixels"},
    )
    color: ColorMode = "rgb"

    @property
    def folders_elsewhere(self) -> tuple[str, ...]:
        """Those of images and masks that do not lie in the folder of the dataset."""
        images = (self.train_images, self.validation_images, self.test_images)
        masks = (self.train_masks, self.validation_masks, self.test_masks)
        outside = (each for each in (*images, *masks) if PurePath(each).is_absolute())
        return tuple(str(PurePath(each).parent) if {"*", "{"} & {*each} else each for each in outside)
