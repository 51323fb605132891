"""Whether an augmentation makes images of one class look like those of another."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from torch import Tensor

from training.config import RunConfig
from training.config.sections.data.image_section import ImageSection
from training.data.augment import Augmenter
from training.doctor.samples.looked import Looked, turn
from training.events import Finding
from training.findings.labels import (
    CHANGES_LABEL,
    LEAST_CROP,
    LEAST_KNOWN,
    LEAST_RIGHT,
    LEAST_TURNED,
    LEFT_OF_STRONG,
    LEFT_OF_VARIED,
    LOST_OF_NAMED,
    LOST_RIGHT,
    SAME_OTHER,
    STRONG_JITTER,
)

_DIGITS = re.compile(r"(?i)^(\d|zero|one|two|three|four|five|six|seven|eight|nine)\b")
_LETTER = re.compile(r"^[A-Za-z]$")
_SIDES = re.compile(r"(?i)(^|[\W_])(left|right|up|down|top|bottom|upward|downward|east|west|north|south)s?([\W_]|$)")
_COMPARED = 500
_VARIES = (
    *(
        "flip",
        "crop_padding",
        "rotation",
        "resized_crop_scale",
        "auto_augment",
        "vertical_flip",
        "translate",
        "affine_scale",
    ),
    *("shear", "perspective", "brightness", "contrast", "saturation", "hue", "grayscale", "blur", "erasing"),
)
_WORDS = {
    "flip": "flipped left to right",
    "vertical_flip": "flipped top to bottom",
    "rotation": "turned upside down",
    "hue": "in other colors",
}


def augmentation_findings(looked: Looked, config: RunConfig) -> Iterator[Finding]:
    """What is on of flips, large rotations and hue; then of all that varies images, together."""
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
    found = [each for how, (used, usual) in on.items() if used and (each := _judge(looked, how, usual)) is not None]
    yield from found or _judge_all(looked, config)


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


def _judge_all(looked: Looked, config: RunConfig) -> Iterator[Finding]:
    """Whether a simple model that learns from images as the run varies them is still right of images as they are."""
    model, dataset = looked.model, config.dataset
    if model is None or not isinstance(dataset, ImageSection) or not dataset.is_augmented:
        return
    some = slice(_COMPARED)
    labels = looked.labels[some]
    plain = replace(model, inputs=model.inputs[some], targets=model.targets[some])
    usual, right = float(np.bincount(labels).max() / len(labels)), float((plain.held_out.argmax(1) == labels).mean())
    if right < LEAST_RIGHT or right - usual < LEAST_KNOWN:
        return

    def ask(varied: ImageSection) -> float:
        """What is left of being better than guessing."""
        learned = replace(plain, inputs=looked.as_numbers(_vary(looked, varied, config.seed)))
        still = float((learned.answer_like_held_out(plain.inputs).argmax(1) == labels).mean())
        return (still - usual) / (right - usual + 1e-9)

    left, enough = ask(dataset), LEFT_OF_VARIED
    if max(dataset.brightness, dataset.contrast, dataset.saturation) > STRONG_JITTER:
        enough = LEFT_OF_STRONG
    if left > enough:
        return
    fields = type(dataset).model_fields
    used = {name: fields[name].default for name in _VARIES if getattr(dataset, name, None) != fields[name].default}
    best, name = max((ask(dataset.model_copy(update={name: off})), name) for name, off in used.items())
    fix = {f"dataset.{name}": used[name]} if best > enough else {f"dataset.{each}": off for each, off in used.items()}
    yield CHANGES_LABEL.find(
        "warning",
        f"Augmentation hides what images show: a simple model that learns from them as the run varies them keeps {max(left, 0.0):.0%} of what it knows of images as they are, "
        f"and {max(best, 0.0):.0%} without {', '.join(fix)}.",
        "Make it weaker, or switch it off: a small network needs far longer to learn from such images.",
        place="together" if len(fix) > 1 else next(iter(fix)),
        evidence={"as_they_are": right, "left": left},
        fix=fix,
    )


def _vary(looked: Looked, dataset: ImageSection, seed: int) -> Tensor:
    """Some of the images as one epoch shows them."""
    images, numbers = looked.train[:_COMPARED], looked.trained[:_COMPARED]
    augmenter = Augmenter(dataset, seed)
    varied = augmenter(images, numbers, 0) if not augmenter.identity else images
    return augmenter.erase(varied.float(), numbers, 0, images.float().mean((0, 1, 2)))


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
