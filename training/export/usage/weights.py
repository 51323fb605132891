"""Use weights exported by Trainwright, without Trainwright: torch, safetensors and, for its networks, torchvision."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

Facts = dict[str, Any]


def load_model(folder: str | Path) -> tuple[torch.nn.Module, Facts]:
    """The model in evaluation mode and the facts of model.json; ``folder`` holds both files."""
    facts = json.loads((Path(folder) / "model.json").read_text(encoding="utf-8"))
    architecture = facts["architecture"]
    model: torch.nn.Module
    if architecture["builder"] == "torch.nn.Sequential":
        layers = [getattr(torch.nn, layer["type"])(**layer["arguments"]) for layer in architecture["layers"]]
        model = torch.nn.Sequential(*layers)
    else:
        import torchvision

        model = torchvision.models.get_model(architecture["name"], weights=None, **architecture["arguments"])
        for layer in architecture["replaced"]:
            model.set_submodule(layer["name"], getattr(torch.nn, layer["type"])(**layer["arguments"]))
    state = model.state_dict()  # with the version marks that some networks look for
    state.update(load_file(Path(folder) / facts["file"]["name"]))
    model.load_state_dict(state)
    return model.eval(), facts


def normalise(facts: Facts, samples: torch.Tensor) -> torch.Tensor:
    """What the model takes, from samples (n, *shape) as the data holds them: uint8 pixels, or float32 values."""
    step = facts["input"]["normalisation"]
    size = (1, -1) + (1,) * (samples.ndim - 2)
    # (value / divisor - mean) / std, as the one multiplication and one addition that training used
    scale = torch.tensor([1 / (std * step["divisor"]) for std in step["std"]])
    shift = torch.tensor([-mean / std for mean, std in zip(step["mean"], step["std"], strict=True)])
    return samples.to(torch.float32) * scale.view(size) + shift.view(size)


@torch.inference_mode()
def logits(model: torch.nn.Module, facts: Facts, samples: Any) -> torch.Tensor:
    """(n, classes) scores of samples, a tensor or array; softmax makes them probabilities."""
    scores: torch.Tensor = model(normalise(facts, torch.as_tensor(samples)))
    return scores


def predict(model: torch.nn.Module, facts: Facts, samples: Any) -> list[tuple[str, float]]:
    """For each sample its likeliest class and that class's probability."""
    chances, places = logits(model, facts, samples).softmax(dim=1).max(dim=1)
    return [(facts["classes"][place], chance) for place, chance in zip(places.tolist(), chances.tolist(), strict=True)]
