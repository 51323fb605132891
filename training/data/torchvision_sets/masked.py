"""Sets of photographs with masks."""

from __future__ import annotations

from training.data.download import Remote
from training.data.torchvision_sets.photographs import PETS, PETS_BYTES
from training.data.torchvision_sets.row import KnownSet, split_names

_VOC = "https://thor.robots.ox.ac.uk/pascal/VOC/"
_VOC_CLASSES = split_names(
    "background, aeroplane, bicycle, bird, boat, bottle, bus, car, cat, chair, cow, diningtable, dog, horse, motorbike, "
    "person, pottedplant, sheep, sofa, train, tvmonitor"
)
"""In the order of their indices, as its makers list them (host.robots.ox.ac.uk/pascal/VOC)."""
_STREET_CLASSES = split_names(
    "road, sidewalk, building, wall, fence, pole, traffic light, traffic sign, vegetation, terrain, sky, person, rider, "
    "car, truck, bus, train, motorcycle, bicycle"
)
"""Those of Cityscapes that its makers judge by, in the order of their numbers for training."""


def _voc(year: int, name: str, digest: str, part: str) -> Remote:
    makes = f"VOCdevkit/VOC{year}/ImageSets/Segmentation/{part}.txt"
    return Remote(name, (f"{_VOC}voc{year}/{name}",), f"md5:{digest}", makes, extra=part == "test")


_VOC2007 = (
    _voc(2007, "VOCtest_06-Nov-2007.tar", "b6e924de25625d8de591ea690078ad9f", "test"),
    _voc(2007, "VOCtrainval_06-Nov-2007.tar", "c52e279531787c972589f7e41ab4ae64", "train"),
)
_VOC2012 = _voc(2012, "VOCtrainval_11-May-2012.tar", "6cd6e144f989b92b3379bac3b3de84fd", "train")
_STREETS = (
    Remote("gtFine_trainvaltest.zip", (), "", "gtFine"),
    Remote("leftImg8bit_trainvaltest.zip", (), "", "leftImg8bit"),
)

MASKED: dict[str, KnownSet] = {
    "OxfordIIITPet": KnownSet("masks", "oxford-iiit-pet", PETS, PETS_BYTES, 850_000_000, ("pet", "background")),
    "VOC2007": KnownSet("masks", "", _VOC2007, 911_052_800, 920_000_000, _VOC_CLASSES),
    "VOC2012": KnownSet("masks", "", (_VOC2012,), 1_999_639_040, 2_010_000_000, _VOC_CLASSES),
    "Cityscapes": KnownSet(
        "masks",
        "cityscapes",
        _STREETS,
        0,
        11_900_000_000,
        _STREET_CLASSES,
        "Get leftImg8bit_trainvaltest.zip and gtFine_trainvaltest.zip from https://www.cityscapes-dataset.com/downloads, "
        "which asks for a registration, and put them into",
    ),
}
