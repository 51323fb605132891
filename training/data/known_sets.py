"""Datasets that torchvision knows by name: their files, where those are to be had, and what their classes are called.

Addresses and digests are those of torchvision 0.30 (``torchvision.datasets``). CIFAR is taken in the binary form that its
makers offer beside the pickled one (cs.toronto.edu/~kriz/cifar.html): a pickle can hold a program, and none is ever opened.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from platformdirs import user_data_path

from training.data.download import Remote


@dataclass(frozen=True)
class KnownSet:
    """``folder`` lies below the folder that the settings name, as torchvision has it; what ``form`` it has decides how it is
    read. ``files`` are to be fetched, ``bytes`` in all; an archive makes ``made``."""

    form: Literal["idx", "cifar", "folder"]
    folder: str
    files: tuple[Remote, ...]
    bytes: int
    classes: tuple[str, ...] = ()
    made: str = ""


def own_folder() -> Path:
    """Where they are put unless the settings name another place."""
    return user_data_path("Trainwright", appauthor=False) / "datasets"


def _idx(mirrors: tuple[str, ...], digests: tuple[str, str, str, str]) -> tuple[Remote, ...]:
    names = (
        "train-images-idx3-ubyte.gz",
        "train-labels-idx1-ubyte.gz",
        "t10k-images-idx3-ubyte.gz",
        "t10k-labels-idx1-ubyte.gz",
    )
    return tuple(
        Remote(name, tuple(mirror + name for mirror in mirrors), f"md5:{digest}")
        for name, digest in zip(names, digests, strict=True)
    )


KNOWN_SETS: dict[str, KnownSet] = {
    "MNIST": KnownSet(
        "idx",
        "MNIST/raw",
        _idx(
            ("https://ossci-datasets.s3.amazonaws.com/mnist/", "http://yann.lecun.com/exdb/mnist/"),
            (
                "f68b3c2dcbeaaa9fbdd348bbdeb94873",
                "d53e105ee54ea40749a09fcbcd1e9432",
                "9fb629c4189551a2d022fa330f9573f3",
                "ec29112dd5afa0611ce80d1b7f02629c",
            ),
        ),
        11_594_722,
    ),
    "FashionMNIST": KnownSet(
        "idx",
        "FashionMNIST/raw",
        _idx(
            ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",),
            (
                "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
                "25c81989df183df01b3e8a0aad5dffbe",
                "bef4ecab320f06d8554ea6380940ec79",
                "bb300cfdad3c16e7a12a480ee83cd310",
            ),
        ),
        30_878_645,
        (
            "T-shirt/top",
            "Trouser",
            "Pullover",
            "Dress",
            "Coat",
            "Sandal",
            "Shirt",
            "Sneaker",
            "Bag",
            "Ankle boot",
        ),
    ),
    "KMNIST": KnownSet(
        "idx",
        "KMNIST/raw",
        _idx(
            ("http://codh.rois.ac.jp/kmnist/dataset/kmnist/",),
            (
                "bdb82020997e1d708af4cf47b453dcf7",
                "e144d726b3acfaa3e44228e80efcd344",
                "5c965bf0a639b31b8f53240b1b52f4d7",
                "7320c461ea6c1c855c0b718fb2a4b134",
            ),
        ),
        21_000_000,
        ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"),
    ),
    "CIFAR10": KnownSet(
        "cifar",
        "",
        (
            Remote(
                "cifar-10-binary.tar.gz",
                ("https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",),
                "sha256:c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
            ),
        ),
        170_052_171,
        ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
        "cifar-10-batches-bin",
    ),
    "CIFAR100": KnownSet(
        "cifar",
        "",
        (
            Remote(
                "cifar-100-binary.tar.gz",
                ("https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",),
                "sha256:58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
            ),
        ),
        168_513_733,
        made="cifar-100-binary",
    ),
    "EuroSAT": KnownSet(
        "folder",
        "eurosat",
        (
            Remote(
                "EuroSAT.zip",
                (
                    "https://huggingface.co/datasets/torchgeo/eurosat/resolve/"
                    "c877bcd43f099cd0196738f714544e355477f3fd/EuroSAT.zip",
                ),
                "md5:c8fa014336c82ac7804f0398fcb19387",
            ),
        ),
        94_280_567,
        made="2750",
    ),
    "Imagenette": KnownSet(
        "folder",
        "",
        (
            Remote(
                "imagenette2-160.tgz",
                ("https://s3.amazonaws.com/fast-ai-imageclas/imagenette2-160.tgz",),
                "md5:e793b78cc4c9e9a4ccc0c1155377a412",
            ),
        ),
        99_003_388,
        (
            "tench",
            "English springer",
            "cassette player",
            "chain saw",
            "church",
            "French horn",
            "garbage truck",
            "gas pump",
            "golf ball",
            "parachute",
        ),
        "imagenette2-160",
    ),
}
