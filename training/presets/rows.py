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
    """One ready configuration. ``when`` is a sentence, ``memory`` what its process takes at most: measured on a processor;
    of GPU memory counted."""

    name: str
    group: str
    title: str
    when: str
    memory: str
    asks: tuple[Ask, ...] = ()


_MNIST = Ask("dataset.path", "the folder with train-images-idx3-ubyte and the three files that belong to it")
_CLASSES = Ask("dataset.path", "a folder with one subfolder of pictures for each class")
_MASKS = Ask("dataset.path", "a folder with images and masks, or with train and val that hold those")
_LABELS = Ask(
    "dataset.path", "a table that names pictures and, in its last column, their labels with spaces between", "file"
)
_TABLE = Ask("dataset.path", "a CSV or Parquet file with the target in its last column", "file")
_QUERIES = Ask(
    "dataset.path", "a CSV or Parquet file with a column of queries and the suitability in its last one", "file"
)
_TEXT = Ask("dataset.path", "a text file", "any")
_NETWORK = Ask("model.path", "a Python file with a function build(...) that returns the network", "file")
_TEACHER = Ask("objective.teacher", "the folder of a run on the same data, or of one of its checkpoints", "any")

_FIRST, _PICTURES, _TABLES, _TEXTS = "First steps", "Pictures", "Tables", "Text"
_LAB = "The laboratory"

PRESETS: tuple[Preset, ...] = (
    Preset(
        "sample",
        _FIRST,
        "Sample: drawn shapes",
        "To see everything work: small pictures drawn on the spot, learned in under a minute.",
        "0.9 GB",
    ),
    Preset(
        "spiral",
        _FIRST,
        "Spiral",
        "To see what each setting does: a run of seconds on points in the plane.",
        "0.8 GB",
    ),
    Preset(
        "mnist",
        _PICTURES,
        "MNIST in five epochs",
        "For MNIST, FashionMNIST and other small grey pictures: more than 99.2 % on MNIST within minutes on a processor.",
        "1 GB",
        (_MNIST,),
    ),
    Preset(
        "pictures",
        _PICTURES,
        "Your pictures, quickly",
        "For a first answer on your own pictures: a small network from nothing, minutes on a processor.",
        "1.1 GB and the pictures",
        (_CLASSES,),
    ),
    Preset(
        "resnet",
        _PICTURES,
        "Fine-tune a ResNet",
        "For few pictures or fine differences: a network that knows ImageNet already; its weights are downloaded once.",
        "2.6 GB and the pictures",
        (_CLASSES,),
    ),
    Preset(
        "vit",
        _PICTURES,
        "Vision transformer from nothing",
        "For ten thousands of pictures and a GPU, when a transformer is wanted; needs the package timm.",
        "8 GB of GPU memory, by estimate",
        (_CLASSES,),
    ),
    Preset(
        "cifar10",
        _PICTURES,
        "CIFAR-10, airbench-like",
        "For 32 x 32 colour pictures on a GPU with bf16, when an accurate network is wanted in seconds.",
        "2 GB of GPU memory",
        (_CLASSES,),
    ),
    Preset(
        "labels",
        _PICTURES,
        "Several labels a picture",
        "For pictures that may show any number of things, listed for each in a table.",
        "1.1 GB and the pictures",
        (_LABELS,),
    ),
    Preset(
        "segmentation",
        _PICTURES,
        "A class for each pixel",
        "For pictures with masks: a U-Net that says where things are, not only what they are.",
        "2.6 GB at 240 x 180 pixels",
        (_MASKS,),
    ),
    Preset(
        "distillation",
        _PICTURES,
        "A small network from a large one",
        "For a network forty times smaller that keeps most of what a trained one knows; train MNIST in five epochs first.",
        "0.9 GB",
        (_MNIST, _TEACHER),
    ),
    Preset(
        "own-network",
        _PICTURES,
        "A network of your own",
        "For a torch module that you wrote: its parameters become settings. The file is run only after you agree to it.",
        "1.1 GB and the pictures",
        (_CLASSES, _NETWORK),
    ),
    Preset(
        "table-classes",
        _TABLES,
        "Classes of a table's rows",
        "For a table whose last column is the class, such as iris; from some hundred rows on.",
        "0.8 GB",
        (_TABLE,),
    ),
    Preset(
        "table-values",
        _TABLES,
        "Numbers from a table",
        "For a table whose last column is a number to predict, such as a price.",
        "0.9 GB",
        (_TABLE,),
    ),
    Preset(
        "ranking",
        _TABLES,
        "The best row of a query",
        "For search results and offers: which of the rows that belong together suits best.",
        "0.9 GB",
        (_QUERIES,),
    ),
    Preset(
        "gpt",
        _TEXTS,
        "Tiny GPT",
        "To see a language model learn to write like one text, letter by letter.",
        "0.9 GB",
        (_TEXT,),
    ),
    Preset(
        "lab-1-baseline",
        _LAB,
        "Laboratory 1: baseline",
        "The plain loop, which the six steps after it are measured by.",
        "1 GB",
        (_MNIST,),
    ),
    Preset(
        "lab-2-one-cycle",
        _LAB,
        "Laboratory 2: one cycle",
        "The plain loop with a rate that rises and falls: the cheapest gain there is.",
        "1 GB",
        (_MNIST,),
    ),
    Preset(
        "lab-3-clip",
        _LAB,
        "Laboratory 3: clipping",
        "With gradients clipped at norm 1: watch the norm, and how seldom the limit is needed.",
        "1 GB",
        (_MNIST,),
    ),
    Preset(
        "lab-4-accumulation",
        _LAB,
        "Laboratory 4: accumulation",
        "Batches of 32, four to a step: the same curve in less memory.",
        "1 GB",
        (_MNIST,),
    ),
    Preset(
        "lab-5-amp",
        _LAB,
        "Laboratory 5: mixed precision",
        "With bf16: whether your device is faster that way.",
        "1 GB",
        (_MNIST,),
    ),
    Preset(
        "lab-6-checkpoints",
        _LAB,
        "Laboratory 6: checkpoints",
        "Saved every 100 steps: what that costs, and that it changes no bit.",
        "1 GB",
        (_MNIST,),
    ),
    Preset(
        "lab-7-crash",
        _LAB,
        "Laboratory 7: crash and resume",
        "To be killed in epoch 3 and resumed: the curve goes on as if nothing had been.",
        "1 GB",
        (_MNIST,),
    ),
)
