"""Sets of small images in files of their own forms.

CIFAR is taken in the binary form that its makers offer beside the pickled one (cs.toronto.edu/~kriz/cifar.html): a pickle can
hold a program, and none is ever opened.
"""

from __future__ import annotations

import string

from training.data.download import Remote
from training.data.torchvision_sets.row import KnownSet, remote, split_names

_DIGITS = tuple(string.digits)
_CHARACTERS = tuple(sorted(string.digits + string.ascii_letters))
_FEWER = tuple(each for each in _CHARACTERS if each not in set("cijklmopsuvwxyz"))
EMNIST_CLASSES: dict[str, tuple[str, ...]] = {
    "byclass": _CHARACTERS,
    "bymerge": _FEWER,  # without the small letters that look like the large ones
    "balanced": _FEWER,
    "letters": ("N/A", *string.ascii_lowercase),  # numbered from 1
    "digits": _DIGITS,
    "mnist": _DIGITS,
}


def _idx(mirrors: tuple[str, ...], *digests: str) -> tuple[Remote, ...]:
    names = [f"{part}-{form}-ubyte.gz" for part in ("train", "t10k") for form in ("images-idx3", "labels-idx1")]
    return tuple(
        Remote(name, tuple(mirror + name for mirror in mirrors), f"md5:{digest}")
        for name, digest in zip(names, digests, strict=True)
    )


_MNIST = _idx(
    ("https://ossci-datasets.s3.amazonaws.com/mnist/", "http://yann.lecun.com/exdb/mnist/"),
    "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "d53e105ee54ea40749a09fcbcd1e9432",
    "9fb629c4189551a2d022fa330f9573f3",
    "ec29112dd5afa0611ce80d1b7f02629c",
)
_FASHION = _idx(
    ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",),
    "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "25c81989df183df01b3e8a0aad5dffbe",
    "bef4ecab320f06d8554ea6380940ec79",
    "bb300cfdad3c16e7a12a480ee83cd310",
)
_KUZUSHIJI = _idx(
    ("http://codh.rois.ac.jp/kmnist/dataset/kmnist/",),
    "bdb82020997e1d708af4cf47b453dcf7",
    "e144d726b3acfaa3e44228e80efcd344",
    "5c965bf0a639b31b8f53240b1b52f4d7",
    "7320c461ea6c1c855c0b718fb2a4b134",
)
_QMNIST_PLACE = "https://raw.githubusercontent.com/facebookresearch/qmnist/master/qmnist-"
_QMNIST = (
    remote(f"{_QMNIST_PLACE}train-images-idx3-ubyte.gz", "ed72d4157d28c017586c42bc6afe6370"),
    remote(f"{_QMNIST_PLACE}train-labels-idx2-int.gz", "0058f8dd561b90ffdd0f734c6a30e5e4"),
    remote(f"{_QMNIST_PLACE}test-images-idx3-ubyte.gz", "1394631089c404de565df7b7aeaf9412"),
    remote(f"{_QMNIST_PLACE}test-labels-idx2-int.gz", "5b5b05890a5e13444e108efe57b788aa"),
)
_EMNIST = remote("https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip", "58c8d27c78d21e728a6bc7b3cc06412e", "gzip")
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/"
_USPS = (
    remote(f"{_LIBSVM}usps.bz2", "ec16c51db3855ca6c91edd34d0e9b197"),
    remote(f"{_LIBSVM}usps.t.bz2", "8ea070ee2aca1ac39742fdd1ef5ed118"),
)
_SEMEION = remote(
    "http://archive.ics.uci.edu/ml/machine-learning-databases/semeion/semeion.data", "cb545d371d2ce14ec121470795a77432"
)
_CIFAR10 = remote(
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    "sha256:c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
    "cifar-10-batches-bin",
)
_CIFAR100 = remote(
    "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
    "sha256:58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
    "cifar-100-binary",
)
_HOUSES = "http://ufldl.stanford.edu/housenumbers/"
_SVHN = (
    remote(f"{_HOUSES}train_32x32.mat", "e26dedcc434d2e4c54c9b2d4a06d8373"),
    remote(f"{_HOUSES}test_32x32.mat", "eb5a983be6a315427106f1b164d9cef3"),
)
_STL10 = remote(
    "http://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz", "91f7769df0f17e558f3565bffb0c7dfb", "stl10_binary"
)
_FACES = Remote("fer2013.csv", (), "", instead=("icml_face_data.csv", "train.csv"))

_CLOTHES = split_names("T-shirt/top, Trouser, Pullover, Dress, Coat, Sandal, Shirt, Sneaker, Bag, Ankle boot")
_LETTERS = split_names("o, ki, su, tsu, na, ha, ma, ya, re, wo")
_FEELINGS = split_names("angry, disgust, fear, happy, sad, surprise, neutral")
_THINGS = split_names("airplane, automobile, bird, cat, deer, dog, frog, horse, ship, truck")
_STL10_THINGS = split_names("airplane, bird, car, cat, deer, dog, horse, monkey, ship, truck")

SMALL_IMAGES: dict[str, KnownSet] = {
    "MNIST": KnownSet("idx", "MNIST/raw", _MNIST, 11_594_722),
    "FashionMNIST": KnownSet("idx", "FashionMNIST/raw", _FASHION, 30_878_645, classes=_CLOTHES),
    "KMNIST": KnownSet("idx", "KMNIST/raw", _KUZUSHIJI, 21_000_000, classes=_LETTERS),
    "QMNIST": KnownSet("arrays", "QMNIST/raw", _QMNIST, 20_500_000, classes=_DIGITS),
    "EMNIST": KnownSet("idx", "EMNIST/raw", (_EMNIST,), 561_753_746, 565_000_000),
    "USPS": KnownSet("arrays", "", _USPS, 8_411_109, classes=_DIGITS),
    "SEMEION": KnownSet("arrays", "", (_SEMEION,), 2_800_000, classes=_DIGITS),
    "FER2013": KnownSet(
        "arrays",
        "fer2013",
        (_FACES,),
        0,
        classes=_FEELINGS,
        by_hand="Get fer2013.csv from https://www.kaggle.com/c/challenges-in-representation-learning-facial-expression-"
        "recognition-challenge, which asks for a registration, and put it into",
    ),
    "CIFAR10": KnownSet("arrays", "", (_CIFAR10,), 170_052_171, 184_000_000, _THINGS),
    "CIFAR100": KnownSet("arrays", "", (_CIFAR100,), 168_513_733, 185_000_000),
    "SVHN": KnownSet("arrays", "", _SVHN, 246_316_178, classes=_DIGITS),
    "STL10": KnownSet("arrays", "", (_STL10,), 2_640_397_119, 3_124_300_000, _STL10_THINGS),
}
