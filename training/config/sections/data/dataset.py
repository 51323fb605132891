"""``[dataset]``: where the samples come from, how they are split and augmented."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from training.config.fields import Folder, advanced, setting
from training.config.sections.data.classes import Classes
from training.config.sections.data.dataset_section import ColorMode
from training.config.sections.data.image_section import GivenSplitSection, ImageSection, ImageSize
from training.config.sections.data.images import ImageTableDataset, SegmentationDataset
from training.config.sections.data.npz import NpzDataset, NpzImagesDataset
from training.config.sections.data.own_data import OwnDataset, OwnImageDataset
from training.config.sections.data.tables import RankingDataset, TableDataset
from training.config.sections.data.text import TextDataset
from training.config.sections.data.torchvision_sets import TorchvisionDataset, TorchvisionSegmentationDataset
from training.config.sections.data.toys import (
    BlobsDataset,
    CirclesDataset,
    DataSeed,
    MoonsDataset,
    RankedDataset,
    SpiralDataset,
)


class IdxDataset(GivenSplitSection):
    """The IDX file format of MNIST and FashionMNIST, compressed or not."""

    kind: Literal["idx"] = "idx"
    path: Folder = setting(help="Folder of train-images-idx3-ubyte and so on, or .gz.")
    classes: Classes = ()


class ImageFolderDataset(GivenSplitSection):
    """A folder of images with one subfolder for each class."""

    kind: Literal["image_folder"] = "image_folder"
    path: Folder = setting(
        help="Folder with one subfolder per class, or with train and val (or test) folders that hold those (ImageFolder: root).",
    )
    classes: Classes = ()
    image_size: ImageSize = None
    validation_path: str | None = advanced(
        None,
        "Validation folder",
        "Another folder with one subfolder per class, wherever it lies, to validate on. Empty: the validation part of the folder, "
        "else held-out training images.",
        also="elsewhere parts",
        path="folder",
        placeholder="in the folder, or held out",
    )
    test_path: str | None = advanced(
        None,
        "Test folder",
        "Another folder with one subfolder per class, wherever it lies, to test on. Empty: the test part of the folder, if any.",
        also="elsewhere parts",
        path="folder",
        placeholder="in the folder, if any",
    )
    color: ColorMode = "rgb"


class ShapesDataset(ImageSection):
    """Small images of circles, squares, triangles and more, drawn on the spot. Needs no file."""

    kind: Literal["shapes"] = "shapes"
    samples: int = setting(6000, "Samples", "Images in all, divided evenly over the classes.", ge=60, le=10**6)
    image_size: int = setting(32, "Image size", "Side of each square image.", unit="px", ge=16, le=256)
    noise: float = setting(0.1, "Noise", "Strength of the noise added to each image; more is harder.", ge=0.0, le=1.0)
    data_seed: DataSeed = 0


Dataset = Annotated[
    ShapesDataset
    | ImageFolderDataset
    | ImageTableDataset
    | SegmentationDataset
    | IdxDataset
    | TorchvisionDataset
    | TorchvisionSegmentationDataset
    | SpiralDataset
    | MoonsDataset
    | CirclesDataset
    | BlobsDataset
    | RankedDataset
    | NpzDataset
    | NpzImagesDataset
    | TableDataset
    | RankingDataset
    | TextDataset
    | OwnDataset
    | OwnImageDataset,
    Field(discriminator="kind"),
]
