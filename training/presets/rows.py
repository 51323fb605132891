"""The presets in the order in which they are offered: what each is for, what memory it takes, what it has to be given.

The settings themselves are the TOML file of the same name beside this one.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Ask:
    """A path that a preset cannot know: the dotted ``setting`` and ``what`` is wanted, a folder unless ``file``."""

    setting: str
    what: str
    file: bool = False


@dataclass(frozen=True)
class Preset:
    """One ready configuration. ``when`` is a sentence, ``memory`` what its process takes at most."""

    name: str
    group: str
    title: str
    when: str
    memory: str
    asks: tuple[Ask, ...] = ()


_MNIST = Ask("dataset.path", "the folder with train-images-idx3-ubyte and the three files that belong to it")
_CLASSES = Ask("dataset.path", "a folder with one subfolder of pictures for each class")

_FIRST, _PICTURES, _LAB = "First steps", "Pictures", "The laboratory"

PRESETS: tuple[Preset, ...] = (
    Preset(
        "sample",
        _FIRST,
        "Sample: drawn shapes",
        "To see everything work: small pictures drawn on the spot, learned in under a minute.",
        "0.7 GB",
    ),
    Preset(
        "spiral",
        _FIRST,
        "Spiral",
        "To see what each setting does: a run of seconds on points in the plane.",
        "0.5 GB",
    ),
    Preset(
        "mnist",
        _PICTURES,
        "MNIST in five epochs",
        "For MNIST, FashionMNIST and other small grey pictures: above 99.2 % on MNIST within minutes on a processor.",
        "1 GB",
        (_MNIST,),
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
