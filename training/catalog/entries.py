"""The rows of the catalog, in the order the window lists them."""

from __future__ import annotations

from training.catalog.entry import Entry
from training.catalog.optimization import OPTIMIZERS, SCHEDULES
from training.config import (
    dataset,
    model,
    npz,
    objective,
    pictures,
    tables,
    tabular,
    text,
    torchvision_sets,
    toys,
    user_file,
    zoo,
)

DATASETS: tuple[Entry, ...] = (
    Entry(
        "shapes",
        "Drawn shapes",
        "Small pictures of circles, squares, triangles and more, drawn on the spot. Needs no file.",
        dataset.ShapesDataset,
        "training.data.sources.shapes:open_shapes",
    ),
    Entry(
        "image_folder",
        "Image folder",
        "A folder of images with one subfolder for each class.",
        dataset.ImageFolderDataset,
        "training.data.sources.image_folder:open_image_folder",
    ),
    Entry(
        "image_table",
        "Pictures and a table",
        "Pictures, and a CSV or Parquet file with the class, the labels or the values of each.",
        pictures.ImageTableDataset,
        "training.data.sources.image_table:open_image_table",
    ),
    Entry(
        "segmentation",
        "Segmentation folder",
        "A folder of images and one of masks that say for each pixel what it shows.",
        pictures.SegmentationDataset,
        "training.data.sources.segmentation:open_segmentation",
    ),
    Entry(
        "idx",
        "MNIST files (idx)",
        "The file format of MNIST and FashionMNIST, compressed or not.",
        dataset.IdxDataset,
        "training.data.sources.idx:open_idx",
    ),
    Entry(
        "torchvision",
        "torchvision's datasets",
        "MNIST, CIFAR, ImageNet, CelebA and thirty others by name, downloaded once or found on the disk.",
        torchvision_sets.TorchvisionDataset,
        "training.data.sources.torchvision_set:open_torchvision_set",
    ),
    Entry(
        "torchvision_segmentation",
        "torchvision's datasets with masks",
        "Pascal VOC, Cityscapes and the pets of Oxford with the outline of each thing, downloaded once or found on the disk.",
        torchvision_sets.TorchvisionSegmentationDataset,
        "training.data.sources.torchvision_masks:open_torchvision_masks",
    ),
    Entry(
        "spiral",
        "Spiral",
        "Three intertwined arms of points in the plane: the classic toy problem. Needs no file.",
        dataset.SpiralDataset,
        "training.data.sources.toys:open_spiral",
    ),
    Entry(
        "moons",
        "Moons",
        "Two half circles in the plane that reach into each other. Needs no file.",
        toys.MoonsDataset,
        "training.data.sources.toys:open_moons",
    ),
    Entry(
        "circles",
        "Circles",
        "A circle inside another one, which no straight line can part. Needs no file.",
        toys.CirclesDataset,
        "training.data.sources.toys:open_circles",
    ),
    Entry(
        "blobs",
        "Blobs",
        "Clouds of points around as many centres, in any number of dimensions. Needs no file.",
        toys.BlobsDataset,
        "training.data.sources.toys:open_blobs",
    ),
    Entry(
        "ranked",
        "Made queries",
        "Queries whose items are graded by a hidden sum of their features: ranking with a known best answer. Needs no file.",
        toys.RankedDataset,
        "training.data.sources.toys:open_ranked",
    ),
    Entry(
        "npz",
        "NumPy archive",
        "Vectors and their targets in an .npz file.",
        npz.NpzDataset,
        "training.data.sources.npz:open_npz",
    ),
    Entry(
        "npz_pictures",
        "Pictures in a NumPy archive",
        "Pictures and their classes, labels, values or masks in an .npz file.",
        npz.NpzPicturesDataset,
        "training.data.sources.npz:open_npz_pictures",
    ),
    Entry(
        "table",
        "Table",
        "Rows of a CSV or Parquet file: classes, labels or numbers are predicted from the other columns.",
        tables.TableDataset,
        "training.data.sources.table:open_table",
    ),
    Entry(
        "ranking",
        "Table of queries",
        "Rows of a CSV or Parquet file that belong to queries, to be put in order within each.",
        tables.RankingDataset,
        "training.data.sources.ranking:open_ranking",
    ),
    Entry(
        "text",
        "Text",
        "A text file or a folder of them, as characters, bytes or byte pairs, each to be predicted from those before it.",
        text.TextDataset,
        "training.data.sources.text:open_text",
    ),
)

MODELS: tuple[Entry, ...] = (
    Entry(
        "small_cnn",
        "Small CNN",
        "Two convolution-ReLU-pool blocks and a linear layer: enough for small pictures.",
        model.SmallCnn,
        "training.models.small_cnn:make_small_cnn",
    ),
    Entry(
        "whitened_cnn",
        "Whitened CNN",
        "Six convolutions behind a fixed layer that whitens patches: learns small colour pictures in few epochs.",
        model.WhitenedCnn,
        "training.models.whitened_cnn:make_whitened_cnn",
    ),
    Entry(
        "mlp",
        "MLP",
        "Linear layers with an activation between them: for points, tables and tiny pictures.",
        model.Mlp,
        "training.models.mlp:make_mlp",
    ),
    Entry(
        "tabular",
        "Tabular MLP",
        "An MLP with an embedding for each category: the choice for tables.",
        tabular.Tabular,
        "training.models.tabular:make_tabular",
    ),
    Entry(
        "unet",
        "U-Net",
        "Down to coarse features and up again: a class for each pixel of a picture.",
        model.UNet,
        "training.models.unet:make_unet",
    ),
    Entry(
        "torchvision",
        "torchvision network",
        "A known classification network by name, with fresh or pretrained weights, for any channels and classes.",
        zoo.TorchvisionModel,
        "training.models.torchvision_zoo:make_torchvision_model",
    ),
    Entry(
        "torchvision_segmentation",
        "torchvision segmentation",
        "A known segmentation network by name, with fresh or pretrained weights, for any channels and classes.",
        zoo.TorchvisionSegmentation,
        "training.models.segmentation_zoo:make_segmentation_model",
    ),
    Entry(
        "timm",
        "timm network",
        "One of the thousand networks of the package timm, with fresh or pretrained weights. Needs timm.",
        zoo.TimmModel,
        "training.models.timm_zoo:make_timm_model",
    ),
    Entry(
        "user_file",
        "Your own Python file",
        "A file of yours with a function build(...) that returns the network; its parameters become settings.",
        user_file.UserFile,
        "training.models.user_file:make_user_model",
    ),
    Entry(
        "gpt",
        "GPT",
        "A decoder-only transformer that predicts the next token of a text, small enough for a processor.",
        text.Gpt,
        "training.models.gpt:make_gpt",
    ),
)

OBJECTIVES: tuple[Entry, ...] = (
    Entry(
        "classification",
        "Classification",
        "Each sample belongs to exactly one class.",
        objective.Classification,
        "training.objectives.classification:ClassificationObjective",
    ),
    Entry(
        "binary",
        "Yes or no",
        "Two classes, of which the second is the one to find, with a threshold.",
        objective.Binary,
        "training.objectives.binary:BinaryObjective",
    ),
    Entry(
        "multi_label",
        "Several labels",
        "Each sample may carry any number of labels.",
        objective.MultiLabel,
        "training.objectives.multi_label:MultiLabelObjective",
    ),
    Entry(
        "regression",
        "Regression",
        "One number or several are predicted for each sample.",
        objective.Regression,
        "training.objectives.regression:RegressionObjective",
    ),
    Entry(
        "ranking",
        "Ranking",
        "The items of a query are put in order, the most suitable first.",
        objective.Ranking,
        "training.objectives.ranking:RankingObjective",
    ),
    Entry(
        "distillation",
        "Distillation",
        "A small network learns classes from a large one that was trained before.",
        objective.Distillation,
        "training.objectives.distillation:DistillationObjective",
    ),
    Entry(
        "segmentation",
        "Segmentation",
        "Each pixel of a picture belongs to a class.",
        objective.Segmentation,
        "training.objectives.segmentation:SegmentationObjective",
    ),
    Entry(
        "language_model",
        "Language model",
        "The next token is predicted at every place of a text.",
        objective.LanguageModel,
        "training.objectives.language_model:LanguageModelObjective",
    ),
)

_TABLES = {
    "dataset": DATASETS,
    "model": MODELS,
    "objective": OBJECTIVES,
    "optimizer": OPTIMIZERS,
    "schedule": SCHEDULES,
}


def entries(section: str) -> tuple[Entry, ...]:
    """The choices of ``section`` ("dataset", "model", "objective", "optimizer", "schedule")."""
    return _TABLES[section]


def entry(section: str, kind: str) -> Entry:
    """The row of ``kind`` in ``section``; KeyError when there is none."""
    for candidate in _TABLES[section]:
        if candidate.kind == kind:
            return candidate
    raise KeyError(f"{section} has no kind {kind!r}")
