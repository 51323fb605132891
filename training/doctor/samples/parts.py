"""Whether the training and the validation part are of one kind: their inputs by their statistics, their labels by what a simple model
learned of one and says of the other."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from torch import Tensor

from training.doctor.samples.looked import Looked
from training.doctor.samples.simple_model import Floats
from training.events import Finding
from training.findings.split import (
    APART,
    APART_IMAGES,
    APART_SPREAD,
    LEAST_HELD,
    LEAST_SKILL,
    SURE,
    UNLIKE,
    UNLIKE_LABELS,
)

_LEAST_STD = 1e-6
_LIKELY_SHARE = 0.2
"""Of the difference between the parts that is left, where it is explained."""


def part_findings(looked: Looked) -> Iterator[Finding]:
    """Nothing where the parts were made to differ: of groups, and of times."""
    source = looked.data.source
    if source.groups is not None or source.moments is not None or len(looked.held) < LEAST_HELD:
        return
    found = _of_inputs(looked)
    if found is None and not source.varies:
        found = _of_labels(looked)
    if found is not None:
        yield found


def _of_inputs(looked: Looked) -> Finding | None:
    """By the number that differs most."""
    image = looked.data.facts.layout == "image"
    names, train, validation = _describe(looked, looked.train), looked.train, looked.validation
    one, other = (_measure_images(each) if image else _measure_columns(each) for each in (train, validation))
    worst, limit = (0.0, "", 0.0, 0.0), APART_IMAGES if image else APART
    spread = False
    for place, name in enumerate(names):
        mine, theirs = (values[np.isfinite(values)] for values in (one[:, place], other[:, place]))
        if min(len(mine), len(theirs)) < LEAST_HELD:
            continue
        std, their_std = float(mine.std()), float(theirs.std())
        if std <= _LEAST_STD * max(1.0, abs(float(mine.mean()))):
            continue
        apart = abs(float(theirs.mean() - mine.mean())) / std
        sure = apart / math.sqrt(1.0 / len(mine) + (their_std / std) ** 2 / len(theirs)) >= SURE
        # A few large values decide a std: it is compared by the middle half, too.
        wider = max(_spread(theirs) / max(_spread(mine), 1e-12), _spread(mine) / max(_spread(theirs), 1e-12))
        if sure and apart > worst[0]:
            worst = (apart, name, float(mine.mean()), float(theirs.mean()))
        if not image and wider >= APART_SPREAD and _spread(mine) > 0 and not spread:
            spread, worst = True, max(worst, (APART, name, _spread(mine), _spread(theirs)))
    apart, name, mine_is, theirs_is = worst
    if apart < limit / 2.0:
        return None
    title = f"The samples of validation are unlike those of training: {name} is {theirs_is:.3g} there and {mine_is:.3g} here, {apart:.1f} std apart."
    return UNLIKE.find(
        "warning" if apart >= limit else "info",
        f"{title}{_explain(looked) if image else ''}",
        "Were both prepared alike (scaled, normalized, in the same order of channels)? If they come from different places, validation tells how well "
        "the model carries over.",
        place="inputs",
        evidence={"std_apart": apart, "train": mine_is, "validation": theirs_is},
    )


def _explain(looked: Looked) -> str:
    """What may have been done to the images of one part alone, by how their channels' means would then agree."""
    here, there = (each.float().mean((0, 1, 2)) for each in (looked.train, looked.validation))
    tries = {
        "The channels are in another order there, as where OpenCV reads BGR and others RGB.": here.flip(0),
        "They are inverted there, dark for bright.": 255.0 - here,
    }
    words, near = min(
        ((words, float((made - there).abs().max())) for words, made in tries.items()), key=lambda each: each[1]
    )
    return f" {words}" if near < _LIKELY_SHARE * float((here - there).abs().max()) else ""


def _spread(values: Floats) -> float:
    low, high = np.quantile(values, (0.25, 0.75))
    return float(high - low)


def _describe(looked: Looked, samples: Tensor) -> list[str]:
    facts = looked.data.facts
    if facts.layout == "image":
        channels = samples.shape[-1]
        of = [""] if channels == 1 else [f" of channel {number}" for number in range(1, channels + 1)]
        return [
            *(f"the brightness{name}" for name in of),
            *(f"the contrast{name}" for name in of),
            "the sharpness",
            "the color",
        ]
    count = int(np.prod(samples.shape[1:]))
    return [
        f"column {facts.columns[place] or place + 1}" if facts.columns else f"number {place + 1}"
        for place in range(count)
    ]


def _measure_images(images: Tensor) -> Floats:
    """(n, numbers): of each image its channels' means and stds, how much neighbors differ, and how much channels do; from 0 to 1."""
    pixels = images.float() / 255.0
    sharp = (pixels[:, :, 1:] - pixels[:, :, :-1]).abs().flatten(1).mean(1, keepdim=True)
    color = (pixels - pixels.mean(-1, keepdim=True)).abs().flatten(1).mean(1, keepdim=True)
    flat = pixels.flatten(1, 2)
    measured: Floats = np.concatenate(
        [flat.mean(1).numpy(), flat.std(1).numpy(), sharp.numpy(), color.numpy()], 1, dtype=np.float32
    )
    return measured


def _measure_columns(samples: Tensor) -> Floats:
    columns: Floats = samples.reshape(len(samples), -1).numpy()
    return columns


def _of_labels(looked: Looked) -> Finding | None:
    """A simple model is right of training samples that it did not see, and wrong of those held out."""
    model = looked.model
    if model is None:
        return None
    right = float((model.held_out.argmax(1) == looked.labels).mean())
    answered = model.answer(looked.as_numbers(looked.validation)).argmax(1)
    there = float((answered == looked.held_labels).mean())
    usual = float(np.bincount(looked.labels).max() / len(looked.labels))
    skill, left = (right - usual) / (1.0 - usual + 1e-9), (there - usual) / (1.0 - usual + 1e-9)
    error = math.sqrt(0.25 / len(looked.held) + 0.25 / len(looked.labels))
    if skill < LEAST_SKILL or right - there < SURE * error or left > UNLIKE_LABELS * skill:
        return None
    title = (
        f"A simple model is right in {right:.0%} of the training samples that it did not see, but in {there:.0%} of those held out: labels or inputs of "
        f"the two parts do not mean the same.{_explain(looked) if looked.is_image else ''}"
    )
    return UNLIKE.find(
        "warning",
        title,
        "Compare some samples of both parts with their labels, and how both were prepared.",
        place="labels",
        evidence={"train": right, "validation": there},
    )
