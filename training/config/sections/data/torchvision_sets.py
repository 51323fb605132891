"""``[dataset]`` of the sets that torchvision knows by name."""

from __future__ import annotations

from typing import ClassVar, Literal

from training.config.fields import advanced, setting
from training.config.sections.data.classes import Classes
from training.config.sections.data.image_section import GivenSplitSection, ImageSize, Sides
from training.facts import Target


class KnownSetSection(GivenSplitSection):
    """Where a known set lies, and whether it may be fetched."""

    name: str
    path: str | None = setting(
        None,
        "Folder",
        "Where the files are, as torchvision lays them out, or shall be put (root). Empty: this program's own data folder.",
        path="folder",
        placeholder="the program's data folder",
    )
    download: bool = setting(
        True, "Download", "Download what is not there yet, and check its digest.", affects_result=False
    )


class TorchvisionDataset(KnownSetSection):
    """MNIST, CIFAR, ImageNet, CelebA and thirty others by name, downloaded once or found on the disk."""

    kind: Literal["torchvision"] = "torchvision"
    name: Literal[
        "MNIST", "FashionMNIST", "KMNIST", "QMNIST", "EMNIST", "USPS", "CIFAR10", "CIFAR100", "SVHN", "STL10", "EuroSAT",
        "Imagenette", "Food101", "Flowers102", "OxfordIIITPet", "DTD", "GTSRB", "FGVCAircraft", "Caltech101", "Caltech256",
        "SUN397", "Country211", "RenderedSST2", "ImageNet", "CelebA", "Places365", "StanfordCars", "INaturalist2017",
        "INaturalist2018", "INaturalist2019", "INaturalist2021", "INaturalist2021Mini", "FER2013", "LFWPeople", "Omniglot",
        "SEMEION",
    ] = setting(
        "MNIST",
        "Dataset",
        "MNIST, QMNIST, USPS, SEMEION, SVHN: digits. EMNIST: letters, too. FashionMNIST, KMNIST: clothes, Japanese letters. CIFAR10, "
        "CIFAR100, STL10: small photographs. EuroSAT: land from above. Imagenette: ten classes of ImageNet. DTD: textures. "
        "GTSRB: traffic signs. RenderedSST2: images of sentences. Omniglot: characters of 30 alphabets. INaturalist: plants and "
        "animals. Places365: scenes. FER2013: what faces feel. LFWPeople: whose they are. CelebA: 40 attributes of faces, a "
        "multi-label task. The others say what they show, in photographs. ImageNet, CelebA, StanfordCars, FER2013 and LFWPeople you "
        "download yourself; Check says from where.",
    )  # fmt: skip
    classes: Classes = ()
    image_size: ImageSize = advanced(
        None,
        help="Photographs are resized and center-cropped to this square; small images keep their size. Empty: automatic.",
    )
    emnist_split: Literal["byclass", "bymerge", "balanced", "letters", "digits", "mnist"] = advanced(
        "balanced",
        "EMNIST split",
        "Balanced: 47 digits and letters, as many of each. ByClass: all 62. ByMerge: without small letters that look like large "
        "ones. Letters: either case as one. Matters for EMNIST only (split).",
        also="part of EMNIST",
        labels={"byclass": "ByClass", "bymerge": "ByMerge", "mnist": "MNIST"},
    )
    annotation_level: Literal["variant", "family", "manufacturer"] = advanced(
        "variant",
        "FGVC-Aircraft annotation level",
        "Variant: Boeing 737-700, 100 classes. Family: Boeing 737, 70. Manufacturer: Boeing, 30. Matters for FGVCAircraft only "
        "(annotation_level).",
        also="kind of aircraft",
    )
    partition: int = advanced(
        1, "DTD partition", "Which of the ten splits of the textures. Matters for DTD only.", ge=1, le=10
    )

    @property
    def target(self) -> Target | None:
        return "labels" if self.name == "CelebA" else "class"


class TorchvisionSegmentationDataset(KnownSetSection):
    """Pascal VOC, Cityscapes and the pets of Oxford with their masks, downloaded once or found on the disk."""

    called = "images with masks"
    # Two masks cannot be mixed, so there are no settings for it.
    mixup_alpha: ClassVar[float] = 0.0  # type: ignore[misc]
    cutmix_alpha: ClassVar[float] = 0.0  # type: ignore[misc]
    teaches = "mask"

    kind: Literal["torchvision_segmentation"] = "torchvision_segmentation"
    name: Literal["OxfordIIITPet", "VOC2007", "VOC2012", "Cityscapes"] = setting(
        "OxfordIIITPet",
        "Dataset",
        "OxfordIIITPet: a cat or dog and what is behind it. VOC2007, VOC2012: photographs of twenty kinds of things. "
        "Cityscapes: streets, which you download yourself; Check says from where. Pixels that their makers left undecided are "
        "ignored in the loss.",
    )
    image_size: Sides = ()
