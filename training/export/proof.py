"""The proof behind every "exported": what was written is loaded again and answers like the checkpoint's model."""

from __future__ import annotations

import math
from pathlib import Path
from types import ModuleType

import torch

from training.errors import TrainingError
from training.export.material import SAMPLES, Material


def prove(material: Material, usage: ModuleType, folder: Path, tolerance: float) -> float:
    """Load what lies in ``folder`` by ``usage``, the very code that ``model.json`` gives away, and compare logits.

    Returns the largest absolute difference over ``SAMPLES`` inputs, and over the first one alone (a batch of one takes
    other paths). ``tolerance`` is relative to the largest logit; 0 demands equal bits. Raises TrainingError when they
    differ by more.
    """
    model, facts = usage.load_model(folder)
    difference = 0.0
    for count in (SAMPLES, 1):
        samples = material.samples()[:count]
        expected = material.logits(samples)
        found = torch.as_tensor(usage.logits(model, facts, samples))
        if not bool(torch.isfinite(expected).all()):
            raise TrainingError(
                "The model does not answer with finite numbers, so the export cannot be compared; nothing was exported.",
                "Choose an earlier checkpoint.",
            )
        if (spread := material.objective.spread) is not None:  # values of other units are compared in their own
            mean, std = torch.tensor(spread)
            found, expected = (found - mean) / std, (expected - mean) / std
        largest = float((found - expected).abs().max()) if found.shape == expected.shape else math.inf
        if not largest <= tolerance * max(0.1, float(expected.abs().max())):  # "not": NaN is refused, too
            raise TrainingError(
                f"The exported model was loaded again and differs by {largest:.3g} from the checkpoint's; "
                "nothing was exported.",
                "Choose another format, and tell us about it.",
            )
        difference = max(difference, largest)
    return difference
