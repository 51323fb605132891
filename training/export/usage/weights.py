"""Use weights exported by Trainwright, without Trainwright: torch, safetensors and, for their networks, torchvision or timm."""

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from safetensors.torch import load_file

from training.export.usage.answers import answers

Facts = dict[str, Any]


def load_model(folder: str | Path) -> tuple[torch.nn.Module, Facts]:
    """The model in evaluation mode and the facts of model.json; ``folder`` holds all files of the export."""
    facts = json.loads((Path(folder) / "model.json").read_text(encoding="utf-8"))
    model = _build(facts["architecture"], Path(folder))
    state = model.state_dict()  # with the version marks that some networks look for
    state.update(load_file(Path(folder) / facts["file"]["name"]))
    model.load_state_dict(state)
    return model.eval(), facts


def _build(architecture: dict[str, Any], folder: Path) -> Any:
    """The network with any weights."""
    builder, arguments = architecture.get("builder", "torch.nn"), architecture.get("arguments", {})
    if builder == "torch.nn.Sequential":
        return torch.nn.Sequential(*(_build(layer, folder) for layer in architecture["layers"]))
    if builder == "torch.nn":
        return getattr(torch.nn, architecture["type"])(**arguments)
    if builder == "file":
        parts: list[Any] = []
        for part in architecture["parts"]:
            made = _build(part, folder)
            parts += [getattr(made, name) for name in part["attributes"]] if "attributes" in part else [made]
        return getattr(_code(folder / architecture["file"]), architecture["call"])(*parts, **arguments)
    if builder == "timm.create_model":
        import timm

        return timm.create_model(architecture["name"], **arguments)
    import torchvision

    model: torch.nn.Module = torchvision.models.get_model(architecture["name"], weights=None, **arguments)
    for layer in architecture["replaced"]:
        model.set_submodule(layer["name"], getattr(torch.nn, layer["type"])(**layer["arguments"]))
    return model


def _code(path: Path) -> Any:
    """The network's own code, which is part of the export: it is run. Nothing is written beside it."""
    code = ModuleType("network")
    sys.modules["network"] = code  # dataclasses look their module up
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), code.__dict__)
    return code


def normalise(facts: Facts, samples: torch.Tensor) -> torch.Tensor:
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
def logits(model: torch.nn.Module, facts: Facts, samples: Any) -> torch.Tensor:
    """The model's scores of samples, a tensor or array; ``answers`` says what they mean."""
    scores: torch.Tensor = model(normalise(facts, torch.as_tensor(samples)))
    spread = facts["output"]["spread"]  # values were learnt with zero mean and unit spread
    return scores if spread is None else scores * torch.tensor(spread["std"]) + torch.tensor(spread["mean"])


def predict(model: torch.nn.Module, facts: Facts, samples: Any) -> list[Any]:
    """What the model says of each sample, in the form of ``answers``."""
    return answers(facts, logits(model, facts, samples).numpy())
