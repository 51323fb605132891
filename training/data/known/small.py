"""Sets of small pictures in files of their own forms.

CIFAR is taken in the binary form that its makers offer beside the pickled one (cs.toronto.edu/~kriz/cifar.html): a pickle can
hold a program, and none is ever opened.
"""

from __future__ import annotations

import string

from training.data.download import Remote
from training.data.known.row import KnownSet

_MERGED = set("cijklmopsuvwxyz")
_CHARACTERS = tuple(sorted(string.digits + string.ascii_letters))
_FEWER = tuple(each for each in _CHARACTERS if each not in _MERGED)
EMNIST_CLASSES: dict[str, tuple[str, ...]] = {
    "byclass": _CHARACTERS,
    "bymerge": _FEWER,  # without the small letters that look like the large ones
    "balanced": _FEWER,
    "letters": ("N/A", *string.ascii_lowercase),  # numbered from 1
    "digits": tuple(string.digits),
    "mnist": tuple(string.digits),
}


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


def _one(address: str, digest: str, makes: str = "") -> Remote:
    return Remote(address.rpartition("/")[2], (address,), digest, makes)


_QMNIST = "https://raw.githubusercontent.com/facebookresearch/qmnist/master/qmnist-"
_SVHN = "http://ufldl.stanford.edu/housenumbers/"
_USPS = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/"

SMALL_PICTURES: dict[str, KnownSet] = {
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
    "QMNIST": KnownSet(
        "qmnist",
        "QMNIST/raw",
        (
            _one(f"{_QMNIST}train-images-idx3-ubyte.gz", "md5:ed72d4157d28c017586c42bc6afe6370"),
            _one(f"{_QMNIST}train-labels-idx2-int.gz", "md5:0058f8dd561b90ffdd0f734c6a30e5e4"),
            _one(f"{_QMNIST}test-images-idx3-ubyte.gz", "md5:1394631089c404de565df7b7aeaf9412"),
            _one(f"{_QMNIST}test-labels-idx2-int.gz", "md5:5b5b05890a5e13444e108efe57b788aa"),
        ),
        20_500_000,
        tuple(string.digits),
    ),
    "EMNIST": KnownSet(
        "idx",
        "EMNIST/raw",
        (
            Remote(
                "gzip.zip",
                ("https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip",),
                "md5:58c8d27c78d21e728a6bc7b3cc06412e",
                "gzip",
            ),
        ),
        561_753_746,
        unpacked=565_000_000,
    ),
    "USPS": KnownSet(
        "usps",
        "",
        (
            _one(f"{_USPS}usps.bz2", "md5:ec16c51db3855ca6c91edd34d0e9b197"),
            _one(f"{_USPS}usps.t.bz2", "md5:8ea070ee2aca1ac39742fdd1ef5ed118"),
        ),
        8_411_109,
        tuple(string.digits),
    ),
    "SEMEION": KnownSet(
        "semeion",
        "",
        (
            _one(
                "http://archive.ics.uci.edu/ml/machine-learning-databases/semeion/semeion.data",
                "md5:cb545d371d2ce14ec121470795a77432",
            ),
        ),
        2_800_000,
        tuple(string.digits),
    ),
    "FER2013": KnownSet(
        "fer",
        "fer2013",
        (Remote("fer2013.csv", (), "", instead=("icml_face_data.csv", "train.csv")),),
        0,
        ("angry", "disgust", "fear", "happy", "sad", "surprise", "neutral"),
        by_hand="Get fer2013.csv from https://www.kaggle.com/c/challenges-in-representation-learning-facial-expression-"
        "recognition-challenge, which asks for a registration, and put it into",
    ),
    "CIFAR10": KnownSet(
        "records",
        "",
        (
            _one(
                "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                "sha256:c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
                "cifar-10-batches-bin",
            ),
        ),
        170_052_171,
        ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
        184_000_000,
    ),
    "CIFAR100": KnownSet(
        "records",
        "",
        (
            _one(
                "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
                "sha256:58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
                "cifar-100-binary",
            ),
        ),
        168_513_733,
        unpacked=185_000_000,
    ),
    "SVHN": KnownSet(
        "svhn",
        "",
        (
            _one(f"{_SVHN}train_32x32.mat", "md5:e26dedcc434d2e4c54c9b2d4a06d8373"),
            _one(f"{_SVHN}test_32x32.mat", "md5:eb5a983be6a315427106f1b164d9cef3"),
        ),
        246_316_178,
        tuple(string.digits),
    ),
    "STL10": KnownSet(
        "records",
        "",
        (
            _one(
                "http://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz",
                "md5:91f7769df0f17e558f3565bffb0c7dfb",
                "stl10_binary",
            ),
        ),
        2_640_397_119,
        ("airplane", "bird", "car", "cat", "deer", "dog", "horse", "monkey", "ship", "truck"),
        3_124_300_000,
    ),
}
