"""``[dataset]``: where the samples come from, how they are split and varied."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from training.config.dataset_section import DatasetSection
from training.config.fields import setting
from training.config.image_section import GivenSplitSection, ImageSection
from training.config.npz import NpzDataset, NpzPicturesDataset
from training.config.pictures import ImageTableDataset, SegmentationDataset
from training.config.tables import RankingDataset, TableDataset
from training.config.text import TextDataset
from training.config.torchvision_sets import TorchvisionDataset, TorchvisionSegmentationDataset
from training.config.toys import BlobsDataset, CirclesDataset, MoonsDataset, RankedDataset


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
    | TorchvisionDataset
    | TorchvisionSegmentationDataset
    | SpiralDataset
    | MoonsDataset
    | CirclesDataset
    | BlobsDataset
    | RankedDataset
    | NpzDataset
    | NpzPicturesDataset
    | TableDataset
    | RankingDataset
    | TextDataset,
    Field(discriminator="kind"),
]
