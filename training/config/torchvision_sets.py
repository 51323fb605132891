"""``[dataset]`` of the sets that torchvision knows by name."""

from __future__ import annotations

from typing import ClassVar, Literal

from training.config.fields import setting
from training.config.image_section import GivenSplitSection, Sides, size_with_masks
from training.facts import Target


class KnownSetSection(GivenSplitSection):
    """Where a known set lies, and whether it may be fetched."""

    name: str
    path: str | None = setting(
        None,
        title="Folder",
        help="Where the files are, as torchvision lays them out, or shall be put. Empty: this program's own data folder.",
        path="folder",
        placeholder="the program's data folder",
    )
    download: bool = setting(
        True,
        title="Download",
        help="Fetch the files from the internet if they are not there yet. What is fetched is compared with its makers' digest.",
        affects_result=False,
    )


class TorchvisionDataset(KnownSetSection):
    """Datasets that torchvision knows by name."""

    kind: Literal["torchvision"] = "torchvision"
    name: Literal[
        "MNIST",
        "FashionMNIST",
        "KMNIST",
        "QMNIST",
        "EMNIST",
        "USPS",
        "CIFAR10",
        "CIFAR100",
        "SVHN",
        "STL10",
        "EuroSAT",
        "Imagenette",
        "Food101",
        "Flowers102",
        "OxfordIIITPet",
        "DTD",
        "GTSRB",
        "FGVCAircraft",
        "Caltech101",
        "Caltech256",
        "SUN397",
        "Country211",
        "RenderedSST2",
        "ImageNet",
        "CelebA",
        "Places365",
        "StanfordCars",
        "INaturalist2017",
        "INaturalist2018",
        "INaturalist2019",
        "INaturalist2021",
        "INaturalist2021Mini",
        "FER2013",
        "LFWPeople",
        "Omniglot",
        "SEMEION",
    ] = setting(
        "MNIST",
        title="Dataset",
        help="MNIST, QMNIST, USPS, SEMEION, SVHN: digits. EMNIST: letters, too. FashionMNIST, KMNIST: clothes, Japanese letters. CIFAR10, "
        "CIFAR100, STL10: small photographs. EuroSAT: land from above. Imagenette: ten classes of ImageNet. DTD: textures. "
        "GTSRB: traffic signs. RenderedSST2: pictures of sentences. Omniglot: characters of 30 alphabets. INaturalist: plants and "
        "animals. Places365: scenes. FER2013: what faces feel. LFWPeople: whose they are. CelebA: 40 attributes of faces, a task of "
        "labels. The others say what they show, in photographs. ImageNet, CelebA, StanfordCars, FER2013 and LFWPeople you fetch "
        "yourself; Check says from where.",
    )
    image_size: int | None = setting(
        None,
        title="Image size",
        help="Photographs are scaled and centre-cropped to this square; sets of small pictures keep their size. Empty: as a "
        "folder's.",
        unit="px",
        placeholder="automatic",
        advanced=True,
        ge=8,
        le=1024,
    )
    emnist_split: Literal["byclass", "bymerge", "balanced", "letters", "digits", "mnist"] = setting(
        "balanced",
        title="Part of EMNIST",
        help="balanced: 47 digits and letters, as many of each. byclass: all 62. bymerge: without small letters that look "
        "like large ones. letters: either case as one. Matters for EMNIST only.",
        advanced=True,
    )
    annotation_level: Literal["variant", "family", "manufacturer"] = setting(
        "variant",
        title="Kind of aircraft",
        help="variant: Boeing 737-700, 100 classes. family: Boeing 737, 70. manufacturer: Boeing, 30. Matters for "
        "FGVCAircraft only.",
        advanced=True,
    )
    partition: int = setting(
        1,
        title="Partition of DTD",
        help="Which of the ten ways to share the textures out to training, validation and test. Matters for DTD only.",
        advanced=True,
        ge=1,
        le=10,
    )

    @property
    def target(self) -> Target | None:
        return "labels" if self.name == "CelebA" else "class"


class TorchvisionSegmentationDataset(KnownSetSection):
    """Datasets with masks that torchvision knows by name."""

    called = "pictures with masks"
    # Two masks cannot be mixed, so there are no settings for it.
    mixup_alpha: ClassVar[float] = 0.0  # type: ignore[misc]
    cutmix_alpha: ClassVar[float] = 0.0  # type: ignore[misc]

    kind: Literal["torchvision_segmentation"] = "torchvision_segmentation"
    name: Literal["OxfordIIITPet", "VOC2007", "VOC2012", "Cityscapes"] = setting(
        "OxfordIIITPet",
        title="Dataset",
        help="OxfordIIITPet: a cat or dog and what is behind it. VOC2007, VOC2012: photographs of twenty kinds of things. "
        "Cityscapes: streets, which you fetch yourself; Check says from where. "
        "Outlines that their makers left undecided are not learnt from.",
    )
    image_size: Sides = size_with_masks()

    @property
    def target(self) -> Target | None:
        return "mask"
