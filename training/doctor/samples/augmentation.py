"""Whether an augmentation makes images of one class look like those of another."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np

from training.config import RunConfig
from training.config.sections.data.image_section import ImageSection
from training.doctor.samples.looked import Looked, turn
from training.events import Finding
from training.findings.labels import (
    CHANGES_LABEL,
    LEAST_CROP,
    LEAST_RIGHT,
    LEAST_TURNED,
    LOST_OF_NAMED,
    LOST_RIGHT,
    SAME_OTHER,
)

_DIGITS = re.compile(r"(?i)^(\d|zero|one|two|three|four|five|six|seven|eight|nine)\b")
_LETTER = re.compile(r"^[A-Za-z]$")
_SIDES = re.compile(r"(?i)(^|[\W_])(left|right|up|down|top|bottom|upward|downward|east|west|north|south)s?([\W_]|$)")
_WORDS = {
    "flip": "flipped left to right",
    "vertical_flip": "flipped top to bottom",
    "rotation": "turned upside down",
    "hue": "in other colors",
}


def augmentation_findings(looked: Looked, config: RunConfig) -> Iterator[Finding]:
    """What is on of flips, large rotations and hue."""
    dataset = config.dataset
    if not isinstance(dataset, ImageSection):
        return
    yield from _tiny_crops(looked, dataset)
    if looked.model is None:
        return
    on = {
        "flip": (dataset.flip, False),
        "vertical_flip": (dataset.vertical_flip, False),
        "rotation": (dataset.rotation >= 135.0, 15.0),
        "hue": (dataset.hue >= 0.3 and looked.train.shape[-1] == 3, 0.05),
    }
    for how, (used, usual) in on.items():
        if used and (found := _judge(looked, how, usual)) is not None:
            yield found


def _tiny_crops(looked: Looked, dataset: ImageSection) -> Iterator[Finding]:
    """Crops of so few pixels that hardly anything is to be seen on them."""
    side = min(looked.train.shape[1:3])
    crop = math.sqrt(dataset.resized_crop_scale) * side
    if dataset.resized_crop_scale == 1.0 or crop >= LEAST_CROP:
        return
    place = "dataset.resized_crop_scale"
    yield CHANGES_LABEL.find(
        "warning",
        f"{place} is {dataset.resized_crop_scale:g}: of images of {side} pixels a side, crops of {crop:.0f} are shown, with the label of the whole.",
        "Small images lose what they show: crop half of the area at least.",
        place=place,
        evidence={"side": side, "crop": crop},
        fix={place: 0.5},
    )


def _judge(looked: Looked, how: str, usual: float | bool) -> Finding | None:
    model, labels = looked.model, looked.labels
    if model is None:
        return None
    plain = model.held_out.argmax(1)
    right = float((plain == labels).mean())
    if right < LEAST_RIGHT:
        return None
    turned = model.answer_like_held_out(looked.as_numbers(turn(looked.train, how))).argmax(1)
    still = float((turned == labels).mean())
    names = looked.data.facts.names
    named = _speak_of_sides(names)
    other = _find_others(turned, labels, len(names))
    if still > (LOST_OF_NAMED if named else LOST_RIGHT) * right or not (named or other):
        return None
    example = f", for example {names[other[0][0]]} for {names[other[0][1]]}" if other else ""
    place = f"dataset.{how}"
    return CHANGES_LABEL.find(
        "warning",
        f"Images {_WORDS[how]} look like those of other classes: a simple model is right of {right:.0%} as they are, and of {still:.0%} then{example}. "
        f"{place} shows them with the label that they had.",
        "Switch it off.",
        place=place,
        evidence={"as_they_are": right, "changed": still},
        fix={place: usual},
    )


def _speak_of_sides(names: tuple[str, ...]) -> bool:
    """Whether most classes are digits or letters, or two speak of directions."""
    signs = sum(bool(_DIGITS.match(name) or _LETTER.match(name)) for name in names)
    return signs > len(names) / 2 or sum(bool(_SIDES.search(name)) for name in names) >= 2


def _find_others(turned: np.ndarray, labels: np.ndarray, classes: int) -> list[tuple[int, int]]:
    """Pairs (class, the one that most of its changed images are taken for)."""
    pairs = []
    for label in range(classes):
        mine = turned[labels == label]
        if len(mine) < LEAST_TURNED:
            continue
        counts = np.bincount(mine, minlength=classes)
        most = int(counts.argmax())
        if most != label and counts[most] >= SAME_OTHER * len(mine):
            pairs.append((label, most))
    return pairs
