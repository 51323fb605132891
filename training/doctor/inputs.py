"""What there is to say of the inputs, as the model gets them: their scale, and equal samples of different classes."""

from __future__ import annotations

import torch
from torch import Tensor

from training.data import Data
from training.data.duplicates import find_conflicts
from training.events import Finding, FindingLevel
from training.findings.data import (
    CONFLICTS,
    FAR_MEAN,
    LEAST_CONFLICTS,
    ONE_IS_WRONG,
    SCALE,
    UNLIKE_STDS,
    WIDE_STD,
)

_SAMPLES, _FEW = 1024, 64
"""Those that are looked at; and those of inputs that the program scaled itself."""
_SHOWN = 3
_ANSWERS = {"class": "class", "labels": "labels", "values": "value", "mask": "mask"}
"""What equal samples may have another one of."""
_LEAST = 10
"""Samples below which a spread says nothing."""


def input_findings(data: Data) -> list[Finding]:
    """Of some hundred training samples, evenly spaced."""
    facts = data.facts
    if facts.layout not in ("image", "vector") or len(data.splits["train"]) < _LEAST:
        return []
    samples = torch.cat(
        list(data.training_samples(_SAMPLES if data.source.as_given or facts.layout == "vector" else _FEW))
    )
    by_channel = samples.double().transpose(0, 1).flatten(1)
    mean, std = by_channel.mean(1), by_channel.std(1, correction=0)
    coded = torch.tensor([codes > 0 for codes in facts.categories] or [False] * len(std))
    if len(coded) == len(std):
        mean, std = mean[~coded], std[~coded]
    return _scale(data, mean, std)


def conflict_findings(data: Data, whole: bool = False) -> list[Finding]:
    """Training samples that are equal but for their class, labels, values or mask; of all of them, where ``whole``."""
    source = data.source
    if (
        source.target not in _ANSWERS
        or source.layout not in ("image", "vector")
        or source.varies
        or source.runs_own_code
    ):
        return []
    decoding = data.report.batches.mode == "streamed" and source.reading == "files"
    found = find_conflicts(source, data.splits["train"], data.raw, decoding, whole)
    if not found.pairs or found.by_chance:
        return []
    share = found.samples / found.looked
    shown = "; ".join(f"{source.name(one)} and {source.name(other)}" for one, other in found.pairs[:_SHOWN])
    level: FindingLevel = "warning" if share >= LEAST_CONFLICTS else "info"
    title = f"{found.samples:,} of {found.looked:,} training samples are equal to one with another {_ANSWERS[source.target]}: {shown}."
    pairs = [[*pair] for pair in found.pairs[:_SHOWN]]
    evidence = {"samples": found.samples, "looked_at": found.looked, "pairs": pairs}
    return [CONFLICTS.find(level, title, ONE_IS_WRONG, evidence=evidence)]


def _scale(data: Data, mean: Tensor, std: Tensor) -> list[Finding]:
    """``mean`` and ``std`` are those of each channel or column that is no code."""
    if not len(std):
        return []
    evidence = {
        "mean": [round(float(value), 6) for value in mean[:16]],
        "std": [round(float(value), 6) for value in std[:16]],
    }
    used = std > 1e-6 * mean.abs().clamp(min=1e-6)
    fix = {"dataset.normalize": True} if data.source.as_given else {}
    advice = "Let the program normalize them." if fix else "Bring them to a mean of 0 and a std of 1."
    if not bool(used.any()) and not data.facts.categories:
        return [
            SCALE.find("error", "All training samples that were looked at have the same inputs.", evidence=evidence)
        ]
    mean, std = mean[used], std[used]
    if not len(std) or not data.source.as_given:
        return []  # scaled by all training samples: some of them may lie anywhere
    far, wide = float((mean.abs() / std).max()), float(std.max())
    unlike = wide / float(std.min())
    if far > FAR_MEAN:
        what = f"a mean {far:.1f} std from 0"
    elif wide > WIDE_STD:
        what = f"a std of {wide:.3g}"
    elif unlike > UNLIKE_STDS:
        what = f"stds that differ {unlike:,.0f} times"
    else:
        return []
    return [
        SCALE.find(
            "warning", f"The inputs have {what}: training is slow or diverges.", advice, evidence=evidence, fix=fix
        )
    ]
