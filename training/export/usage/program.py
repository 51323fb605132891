"""Use an exported program (torch.export) without Trainwright. Normalization is part of it."""

from pathlib import Path
from typing import Any

import torch
from torch import nn

from training.export.usage.facts import ModelFacts
from training.export.usage.preprocess import load_facts
from training.export.usage.samples import answers


def load_model() -> tuple[nn.Module, ModelFacts]:
    """The program, and the facts in model.json."""
    facts = load_facts()
    return torch.export.load(Path(__file__).with_name(facts["file"]["name"])).module(), facts


@torch.inference_mode()
def logits(model: nn.Module, facts: ModelFacts, samples: Any) -> torch.Tensor:
    """The model's scores of samples (n, *shape), a tensor or array in the dtype that ``facts["input"]`` names."""
    scores: torch.Tensor = model(torch.as_tensor(samples))
    return scores


def predict(model: nn.Module, facts: ModelFacts, samples: Any) -> list[Any]:
    """What the model says of each sample, in the form of ``answers``."""
    return answers(facts, logits(model, facts, samples).numpy())
