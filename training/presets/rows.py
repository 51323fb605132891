"""The presets in the order in which they are offered: what each is for, what memory it takes, what it has to be given.

The settings themselves are the TOML file of the same name beside this one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Ask:
    """A path that a preset cannot know: the dotted ``setting`` and ``what`` is wanted there."""

    setting: str
    what: str
    mode: Literal["folder", "file", "any"] = "folder"

    @property
    def option(self) -> str:
        """How it is given on the command line."""
        return f"--set {self.setting}={'FOLDER' if self.mode == 'folder' else 'FILE'}"


@dataclass(frozen=True)
class Preset:
    """One ready configuration. ``when`` is a sentence, ``memory`` what its process takes at most: measured on a CPU;
    of GPU memory counted."""

    name: str
    group: str
    title: str
    when: str
    memory: str
    asks: tuple[Ask, ...] = ()


_MNIST = Ask("dataset.path", "the folder with train-images-idx3-ubyte and the three files that belong to it")
_CLASSES = Ask("dataset.path", "a folder with one subfolder of images for each class")
_MASKS = Ask("dataset.path", "a folder with images and masks, or with train and val that hold those")
_LABELS = Ask(
    "dataset.path", "a table that names images and, in its last column, their labels with spaces between", "file"
)
_TABLE = Ask("dataset.path", "a CSV or Parquet file with the target in its last column", "file")
_QUERIES = Ask(
    "dataset.path", "a CSV or Parquet file with a column of queries and the relevance in its last one", "file"
)
_TEXT = Ask("dataset.path", "a text file", "any")
_NETWORK = Ask("model.path", "a Python file with a function build(...) that returns the network", "file")
_TEACHER = Ask("objective.teacher", "the folder of a run on the same data, or of one of its checkpoints", "any")

_FIRST, _IMAGES, _TABLES, _TEXTS, _TUTORIAL = "First steps", "Images", "Tables", "Text", "Tutorial"


def _tutorial(name: str, title: str, when: str) -> Preset:
    return Preset(name, _TUTORIAL, f"Tutorial {name[4]}: {title}", when, "1 GB", (_MNIST,))


PRESETS: tuple[Preset, ...] = (
    Preset(
        "sample",
        _FIRST,
        "Sample: synthetic shapes",
        "To see everything work: small images drawn on the spot, learned in under a minute.",
        "0.9 GB",
    ),
    Preset(
        "spiral", _FIRST, "Spiral", "To see what each setting does: a run of seconds on points in the plane.", "0.8 GB"
    ),
    Preset(
        "mnist",
        _IMAGES,
        "MNIST in five epochs",
        "For MNIST, FashionMNIST and other small grayscale images: more than 99.2% on MNIST within minutes on a CPU.",
        "1 GB",
        (_MNIST,),
    ),
    Preset(
        "pictures",
        _IMAGES,
        "Image classification (fast)",
        "For a first answer on your own images: a small network from scratch, minutes on a CPU.",
        "1.1 GB and the images",
        (_CLASSES,),
    ),
    Preset(
        "resnet",
        _IMAGES,
        "Fine-tune a ResNet",
        "For few images or fine differences: a network pretrained on ImageNet; its weights are downloaded once.",
        "2.6 GB and the images",
        (_CLASSES,),
    ),
    Preset(
        "vit",
        _IMAGES,
        "ViT from scratch",
        "For ten thousands of images and a GPU, when a transformer is wanted; needs the package timm.",
        "8 GB of GPU memory, by estimate",
        (_CLASSES,),
    ),
    Preset(
        "cifar10",
        _IMAGES,
        "CIFAR-10, airbench-like",
        "For 32 x 32 color images on a GPU with BF16, when an accurate network is wanted in seconds.",
        "2 GB of GPU memory",
        (_CLASSES,),
    ),
    Preset(
        "labels",
        _IMAGES,
        "Multi-label images",
        "For images that may show any number of things, listed for each in a table.",
        "1.1 GB and the images",
        (_LABELS,),
    ),
    Preset(
        "segmentation",
        _IMAGES,
        "Semantic segmentation",
        "For images with masks: a U-Net that says where things are, not only what they are.",
        "2.6 GB at 240 x 180 pixels",
        (_MASKS,),
    ),
    Preset(
        "distillation",
        _IMAGES,
        "Knowledge distillation",
        "For a network forty times smaller that keeps most of what a trained one knows; train MNIST in five epochs first.",
        "0.9 GB",
        (_MNIST, _TEACHER),
    ),
    Preset(
        "own-network",
        _IMAGES,
        "A network of your own",
        "For a torch module that you wrote: its parameters become settings. The file is run only after you agree to it.",
        "1.1 GB and the images",
        (_CLASSES, _NETWORK),
    ),
    Preset(
        "table-classes",
        _TABLES,
        "Tabular classification",
        "For a table whose last column is the class, such as iris; from some hundred rows on.",
        "0.8 GB",
        (_TABLE,),
    ),
    Preset(
        "table-values",
        _TABLES,
        "Tabular regression",
        "For a table whose last column is a number to predict, such as a price.",
        "0.9 GB",
        (_TABLE,),
    ),
    Preset(
        "ranking",
        _TABLES,
        "Learning to rank",
        "For search results and offers: which of the rows that belong together is the most relevant.",
        "0.9 GB",
        (_QUERIES,),
    ),
    Preset(
        "gpt",
        _TEXTS,
        "Tiny GPT",
        "To see a language model learn to write like one text, character by character.",
        "0.9 GB",
        (_TEXT,),
    ),
    _tutorial("lab-1-baseline", "baseline", "The plain loop, which the six steps after it are measured by."),
    _tutorial(
        "lab-2-one-cycle", "OneCycleLR", "The plain loop with a rate that rises and falls: the cheapest gain there is."
    ),
    _tutorial(
        "lab-3-clip",
        "gradient clipping",
        "With gradients clipped at norm 1: watch the norm, and how seldom the limit is needed.",
    ),
    _tutorial(
        "lab-4-accumulation", "gradient accumulation", "Batches of 32, four to a step: the same curve in less memory."
    ),
    _tutorial("lab-5-amp", "mixed precision", "With BF16: whether your device is faster that way."),
    _tutorial(
        "lab-6-checkpoints", "checkpoints", "Saved every 100 steps: what that costs, and that it changes no bit."
    ),
    _tutorial(
        "lab-7-crash",
        "crash and resume",
        "To be killed in epoch 3 and resumed: the curve goes on as if nothing had been.",
    ),
)
