"""Use a program exported by Trainwright (torch.export), without Trainwright: needs torch alone."""

import json
from pathlib import Path
from typing import Any

import torch

from training.export.usage.answers import answers

Facts = dict[str, Any]


def load_model(folder: str | Path) -> tuple[torch.nn.Module, Facts]:
    """The program and the facts of model.json; ``folder`` holds both files. Normalisation is part of the program."""
    facts = json.loads((Path(folder) / "model.json").read_text(encoding="utf-8"))
    return torch.export.load(Path(folder) / facts["file"]["name"]).module(), facts


@torch.inference_mode()
def logits(model: torch.nn.Module, facts: Facts, samples: Any) -> torch.Tensor:
    """The model's scores of samples (n, *shape), a tensor or array in the dtype that ``facts["input"]`` names."""
    scores: torch.Tensor = model(torch.as_tensor(samples))
    return scores


def predict(model: torch.nn.Module, facts: Facts, samples: Any) -> list[Any]:
    """What the model says of each sample, in the form of ``answers``."""
    return answers(facts, logits(model, facts, samples).numpy())
