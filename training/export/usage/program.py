"""Use an exported program (torch.export) without Trainwright. Normalization is part of it."""

import json
from pathlib import Path
from typing import Any

import torch
from torch import nn

from training.export.usage.samples import answers


def load_model() -> tuple[nn.Module, dict[str, Any]]:
    """The program, and the facts in model.json."""
    folder = Path(__file__).parent
    facts = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    return torch.export.load(folder / facts["file"]["name"]).module(), facts


@torch.inference_mode()
def logits(model: nn.Module, facts: dict[str, Any], samples: Any) -> torch.Tensor:
    """The model's scores of samples (n, *shape), a tensor or array in the dtype that ``facts["input"]`` names."""
    scores: torch.Tensor = model(torch.as_tensor(samples))
    return scores


def predict(model: nn.Module, facts: dict[str, Any], samples: Any) -> list[Any]:
    """What the model says of each sample, in the form of ``answers``."""
    return answers(facts, logits(model, facts, samples).numpy())
