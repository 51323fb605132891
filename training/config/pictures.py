"""``[dataset]`` of pictures beyond plain folders: with a table, with masks."""

from __future__ import annotations

from typing import ClassVar, Literal

from training.config.fields import Names, setting
from training.config.image_section import GivenSplitSection, Sides, size_with_masks
from training.config.tables import Column
from training.facts import Target

IMAGE_FOLDERS = frozenset({"images", "image", "imgs", "img", "pictures", "jpegimages"})
MASK_FOLDERS = frozenset({"masks", "mask", "labels", "label", "annotations", "segmentationclass", "gt"})
"""What the two folders of a segmentation dataset may be called, lower case."""


class ImageTableDataset(GivenSplitSection):
    """Pictures, and a table that says of each what there is to learn."""

    called = "pictures with a table"

    kind: Literal["image_table"] = "image_table"
    path: str = setting(
        title="Table",
        help="A CSV or Parquet file with a row for each picture.",
        path="file",
        min_length=1,
    )
    images: str | None = setting(
        None,
        title="Folder of the pictures",
        help="The folder from which the table names its files. Empty: the folder in which the table lies.",
        path="folder",
        placeholder="the table's folder",
    )
    file_column: Column | None = setting(
        None,
        title="File column",
        help="The column that names the files. Empty: the first whose texts end like pictures.",
        placeholder="automatic",
        columns=True,
    )
    targets: Names = setting(
        (),
        title="Target",
        help="The column to predict: a class, a number, or several columns of numbers, or of 0 and 1 for labels.",
        placeholder="the last column",
        columns=True,
        mostly_one=True,
        strict=False,
        max_length=10_000,
    )
    task: Literal["auto", "class", "labels", "values"] = setting(
        "auto",
        title="Task",
        help="auto looks at the target: text and up to 20 different whole numbers are classes, other numbers are values, "
        "several columns of 0 and 1 are labels.",
    )
    label_separator: Literal["none", "space", ",", ";", "|"] = setting(
        "none",
        title="Label separator",
        help="What stands between labels when the target column holds several in one cell. none: one value a cell.",
    )
    image_size: int | None = setting(
        None,
        title="Image size",
        help="Images are scaled and centre-cropped to this square. Empty: their own size if all agree, else 128.",
        unit="px",
        placeholder="automatic",
        ge=8,
        le=1024,
    )
    file_ending: str = setting(
        "",
        title="File ending",
        help="What the table leaves out at the end of each file's name, for example .jpg.",
        placeholder="none",
        advanced=True,
        max_length=20,
    )
    split_column: Column | None = setting(
        None,
        title="Split by",
        help="A column that says train, validation or test for each picture. Empty: pictures are held back at random.",
        placeholder="none",
        columns=True,
        advanced=True,
    )
    group_column: Column | None = setting(
        None,
        title="Keep together",
        help="A column whose equal values never part: all pictures of a person train, or all of them validate.",
        placeholder="none",
        columns=True,
        advanced=True,
    )
    color: Literal["rgb", "grey"] = setting(
        "rgb", title="Colour", help="rgb gives the model three channels, grey one.", advanced=True
    )

    @property
    def target(self) -> Target | None:
        return "labels" if self.label_separator != "none" else None if self.task == "auto" else self.task


class SegmentationDataset(GivenSplitSection):
    """A folder of images and one of masks."""

    called = "pictures with masks"
    # Two masks cannot be mixed, so there are no settings for it.
    mixup_alpha: ClassVar[float] = 0.0  # type: ignore[misc]
    cutmix_alpha: ClassVar[float] = 0.0  # type: ignore[misc]

    kind: Literal["segmentation"] = "segmentation"
    path: str = setting(
        title="Folder",
        help="Folder with images and masks, or with train and val folders that hold those; each mask is called like its image.",
        path="folder",
        min_length=1,
    )
    class_list: str | None = setting(
        None,
        title="Class list",
        help="A text file with one class a line, in the order of their indices: its name, for colour masks followed by red, "
        "green and blue. Empty: classes.txt in the folder, else the indices in the masks.",
        path="file",
        placeholder="classes.txt",
    )
    image_size: Sides = size_with_masks()
    ignore_index: int | None = setting(
        None,
        title="Index to ignore",
        help="The index in the masks, or place in the class list from 0, of pixels that are not learnt from. 255 always is.",
        placeholder="255 only",
        ge=0,
        le=255,
    )
    unknown: Literal["leave_out", "ignore"] = setting(
        "leave_out",
        title="Unknown values",
        help="leave_out: an image whose mask holds another index or colour than the classes' is left out and listed. "
        "ignore: only such pixels are ignored.",
        advanced=True,
    )
    color: Literal["rgb", "grey"] = setting(
        "rgb", title="Colour", help="rgb gives the model three channels, grey one.", advanced=True
    )

    @property
    def target(self) -> Target | None:
        return "mask"
