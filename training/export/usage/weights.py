"""Use exported weights without Trainwright."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from safetensors.torch import load_file
from torch import nn

from training.export.usage.facts import ModelFacts
from training.export.usage.preprocess import load_facts
from training.export.usage.samples import answers


def make_model() -> nn.Module:
    """The network with any weights: each export has its own."""
    raise NotImplementedError


def load_model() -> tuple[nn.Module, ModelFacts]:
    """The model in evaluation mode, and the facts in model.json."""
    facts = load_facts()
    model = make_model()
    state = model.state_dict()  # with the version marks that some networks look for
    state.update(load_file(Path(__file__).with_name(facts["file"]["name"])))
    model.load_state_dict(state)
    return model.eval(), facts


def load_code(name: str) -> Any:
    """The Python file ``name`` beside this one, with the network that a person wrote: it is run."""
    path = Path(__file__).with_name(name)
    module = sys.modules["network"] = ModuleType("network")  # dataclasses look their module up
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), vars(module))
    return module


def normalize_samples(facts: ModelFacts, samples: torch.Tensor) -> torch.Tensor:
    """What the model takes, from samples (n, *shape) as the data holds them: uint8 pixels, float32 values (NaN where one is
    missing) or whole numbers of tokens."""
    step = facts["input"]["normalisation"]
    if step is None:
        return samples.long()
    size = (1, -1) + (1,) * (samples.ndim - 2) if facts["input"]["layout"] == "image" else (-1,)
    # (value / divisor - mean) / std, as the one multiplication and one addition that training used
    scale = torch.tensor([1 / (std * step["divisor"]) for std in step["std"]])
    shift = torch.tensor([-mean / std for mean, std in zip(step["mean"], step["std"], strict=True)])
    made = samples.to(torch.float32) * scale.view(size) + shift.view(size)
    return made.masked_fill(made.isnan(), 0.0) if step["missing"] else made


@torch.inference_mode()
def logits(model: nn.Module, facts: ModelFacts, samples: Any) -> torch.Tensor:
    """The model's scores of samples (n, *shape), a tensor or array in the dtype that ``facts["input"]`` names."""
    scores: torch.Tensor = model(normalize_samples(facts, torch.as_tensor(samples)))
    if facts["output"]["unit_length"]:
        return torch.nn.functional.normalize(scores, dim=1)
    spread = facts["output"]["spread"]  # values were learned with zero mean and unit std
    return scores if spread is None else scores * torch.tensor(spread["std"]) + torch.tensor(spread["mean"])


def predict(model: nn.Module, facts: ModelFacts, samples: Any) -> list[Any]:
    """What the model says of each sample, in the form of ``answers``."""
    return answers(facts, logits(model, facts, samples).numpy())
