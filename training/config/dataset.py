"""``[dataset]``: where the samples come from, how they are split and varied."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from training.config.dataset_section import DatasetSection, PartsSection
from training.config.fields import Names, setting
from training.config.tables import Column, RankingDataset, TableDataset
from training.config.text import TextDataset
from training.facts import Target


class ImageSection(DatasetSection):
    """Variation of the training images, drawn anew for each sample and epoch."""

    layout = "image"
    called = "pictures"

    flip: bool = setting(
        False, title="Mirror", help="Mirror half of the training images left to right. Wrong for digits and text."
    )
    crop_padding: int = setting(
        0,
        title="Shift",
        help="Pad each training image by this much and cut it back at a random place. 4 suits 32-pixel images.",
        unit="px",
        ge=0,
        le=64,
    )
    rotation: float = setting(
        0.0,
        title="Rotation",
        help="Turn each training image by a random angle up to this many degrees either way.",
        unit="°",
        ge=0.0,
        le=180.0,
    )
    resized_crop_scale: float = setting(
        1.0,
        title="Smallest crop",
        help="Cut a random part out of each training image, at least this share of its area, and scale it back to full "
        "size. 0.08 suits ImageNet, 0.5 and more small images; 1 cuts nothing.",
        gt=0.0,
        le=1.0,
    )
    auto_augment: Literal["none", "rand_augment", "trivial_augment_wide"] = setting(
        "none",
        title="Automatic variation",
        help="Random changes of colour and geometry. rand_augment: a few of one strength. trivial_augment_wide: one of any "
        "strength, nothing to tune.",
    )
    vertical_flip: bool = setting(
        False,
        title="Turn upside down",
        help="Mirror half of the training images top to bottom. For pictures without an up, as from above.",
        advanced=True,
    )
    resized_crop_ratio: float = setting(
        4 / 3,
        title="Widest crop",
        help="Crops are up to this many times as wide as high, or as high as wide. Matters with a smallest crop below 1.",
        advanced=True,
        ge=1.0,
        le=10.0,
    )
    translate: float = setting(
        0.0,
        title="Translation",
        help="Move each training image by up to this share of its sides.",
        advanced=True,
        ge=0.0,
        le=1.0,
    )
    affine_scale: float = setting(
        0.0,
        title="Zoom",
        help="Scale each training image by a factor drawn from 1 minus to 1 plus this; 0.2 draws from 0.8 to 1.2.",
        advanced=True,
        ge=0.0,
        le=0.9,
    )
    shear: float = setting(
        0.0,
        title="Shear",
        help="Slant each training image by up to this many degrees either way.",
        unit="°",
        advanced=True,
        ge=0.0,
        le=80.0,
    )
    perspective: float = setting(
        0.0,
        title="Perspective",
        help="See half of the training images from aside; the corners move by up to this share of half the side. torchvision "
        "uses 0.5.",
        advanced=True,
        ge=0.0,
        le=0.9,
    )
    padding_mode: Literal["reflection", "zeros"] = setting(
        "reflection",
        title="Outside",
        help="What fills the place when an image is moved or turned. reflection: its mirror image, so that edges are no "
        "feature to learn. zeros: black.",
        advanced=True,
    )
    rand_augment_num_ops: int = setting(
        2, title="RandAugment changes", help="How many changes each training image gets.", advanced=True, ge=1, le=10
    )
    rand_augment_magnitude: int = setting(
        9, title="RandAugment strength", help="How strong they are; 30 is the most.", advanced=True, ge=0, le=30
    )
    brightness: float = setting(
        0.0,
        title="Brightness",
        help="Make each training image brighter or darker by a factor drawn from 1 minus to 1 plus this.",
        advanced=True,
        ge=0.0,
        le=5.0,
    )
    contrast: float = setting(
        0.0,
        title="Contrast",
        help="Change the contrast of each training image by a factor drawn from 1 minus to 1 plus this.",
        advanced=True,
        ge=0.0,
        le=5.0,
    )
    saturation: float = setting(
        0.0,
        title="Saturation",
        help="Change the strength of the colours by a factor drawn from 1 minus to 1 plus this. Nothing happens to grey "
        "images.",
        advanced=True,
        ge=0.0,
        le=5.0,
    )
    hue: float = setting(
        0.0,
        title="Hue",
        help="Turn all colours round the circle of colours by up to this share of it either way; 0.1 is a lot already. "
        "Nothing happens to grey images.",
        advanced=True,
        ge=0.0,
        le=0.5,
    )
    grayscale: float = setting(
        0.0, title="Grey", help="Share of the training images that lose their colours.", advanced=True, ge=0.0, le=1.0
    )
    blur: float = setting(
        0.0, title="Blur", help="Share of the training images that are blurred.", advanced=True, ge=0.0, le=1.0
    )
    blur_sigma: float = setting(
        2.0,
        title="Strongest blur",
        help="Each blur has a width drawn from 0.1 to this.",
        unit="px",
        advanced=True,
        ge=0.1,
        le=20.0,
    )
    erasing: float = setting(
        0.0,
        title="Erasing",
        help="Share of the training images of which a random rectangle is covered with the mean colour.",
        advanced=True,
        ge=0.0,
        le=1.0,
    )
    mixup_alpha: float = setting(
        0.0,
        title="MixUp",
        help="Blend each training image, and its target, with another one; the shares come from a beta distribution of this "
        "alpha. 0.2 is usual, 0 blends nothing. Every step reads twice as many images.",
        advanced=True,
        ge=0.0,
        le=10.0,
    )
    cutmix_alpha: float = setting(
        0.0,
        title="CutMix",
        help="Paste a rectangle of another training image into each one, and mix the targets by area; its size comes from a "
        "beta distribution of this alpha. 1 is usual, 0 pastes nothing. With MixUp each image gets one of the two.",
        advanced=True,
        ge=0.0,
        le=10.0,
    )


class GivenSplitSection(PartsSection, ImageSection):
    """Pictures that may come with their own validation or test part."""


class IdxDataset(GivenSplitSection):
    """MNIST and FashionMNIST files (idx, gzipped or not)."""

    kind: Literal["idx"] = "idx"
    path: str = setting(
        title="Folder",
        help="Folder that holds train-images-idx3-ubyte and train-labels-idx1-ubyte, with or without .gz.",
        path="folder",
        min_length=1,
    )


class ImageFolderDataset(GivenSplitSection):
    """A folder of images, one subfolder for each class."""

    kind: Literal["image_folder"] = "image_folder"
    path: str = setting(
        title="Folder",
        help="Folder with one subfolder per class, or with train and val (or test) folders that hold those.",
        path="folder",
        min_length=1,
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
    color: Literal["rgb", "grey"] = setting(
        "rgb", title="Colour", help="rgb gives the model three channels, grey one.", advanced=True
    )


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
        placeholder="found by itself",
        columns=True,
    )
    targets: Names = setting(
        (),
        title="Target",
        help="The column to predict: a class, a number, or several columns of numbers, or of 0 and 1 for labels.",
        placeholder="the last column",
        columns=True,
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
    image_size: tuple[Annotated[int, Field(ge=8, le=4096)], ...] = setting(
        (),
        title="Image size",
        help="Height and width, for example 120, 160, or one number for a square; images are scaled and centre-cropped. "
        "Empty: their own size if all agree, else 128.",
        unit="px",
        placeholder="automatic",
        strict=False,
        max_length=2,
    )
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


class SpiralDataset(DatasetSection):
    """Three intertwined spiral arms in the plane: the classic toy problem."""

    layout = "vector"
    called = "points"

    kind: Literal["spiral"] = "spiral"
    samples: int = setting(3000, title="Samples", help="Points in all, divided evenly over the arms.", ge=30, le=10**7)
    turns: float = setting(1.0, title="Turns", help="How far each arm winds; more turns are harder.", gt=0.0, le=5.0)
    noise: float = setting(
        0.15, title="Noise", help="Spread of the points around their arm; more noise is harder.", ge=0.0, le=2.0
    )
    data_seed: int = setting(
        0, title="Data seed", help="Another number draws other points.", advanced=True, ge=0, le=2**31 - 1
    )


class ShapesDataset(ImageSection):
    """Small drawn pictures of circles, squares, triangles and more; made on the spot, no file needed."""

    kind: Literal["shapes"] = "shapes"
    samples: int = setting(
        6000, title="Samples", help="Pictures in all, divided evenly over the classes.", ge=60, le=10**6
    )
    image_size: int = setting(32, title="Image size", help="Side of each square picture.", unit="px", ge=16, le=256)
    noise: float = setting(
        0.1, title="Noise", help="Strength of the speckle over each picture; more is harder.", ge=0.0, le=1.0
    )
    data_seed: int = setting(
        0, title="Data seed", help="Another number draws other pictures.", advanced=True, ge=0, le=2**31 - 1
    )


Dataset = Annotated[
    ShapesDataset
    | ImageFolderDataset
    | ImageTableDataset
    | SegmentationDataset
    | IdxDataset
    | SpiralDataset
    | TableDataset
    | RankingDataset
    | TextDataset,
    Field(discriminator="kind"),
]
