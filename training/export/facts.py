"""``model.json``: all that is needed to use an exported model elsewhere."""

from __future__ import annotations

import inspect
import json
import re
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

import training
from training.config.files import config_data
from training.export.architecture import describe_architecture
from training.export.material import Material
from training.export.place import FACTS, FORMAT
from training.export.usage import pictures, weights
from training.runs.manifest import digest

VERSION = 1
_PIXELS = 255.0


def write_facts(material: Material, path: Path, kind: str, usage: ModuleType) -> None:
    """Describe the exported file ``path`` (of format ``kind``) in a ``model.json`` beside it.

    ``usage`` is the module of ``training.export.usage`` whose code goes with it.
    """
    facts = {
        "format": FORMAT,
        "version": VERSION,
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "file": {"name": path.name, "format": kind, "bytes": path.stat().st_size, "sha256": digest(path)},
        "task": material.config.objective.kind,
        "classes": list(material.facts.names),
        "input": _input(material, normalised_by="caller" if usage is weights else "model"),
        "output": {
            "shape": ["batch", len(material.facts.names)],
            "dtype": "float32",
            "meaning": "one score (logit) for each class, in the order of classes; softmax makes them probabilities",
        },
        "architecture": describe_architecture(material),
        "weights": _weights(material),
        "source": _source(material),
        "versions": {
            "trained_with": material.manifest.get("versions", {}),
            "exported_with": {"trainwright": training.__version__, "torch": torch.__version__},
        },
        "python": _code(usage, material),
    }
    text = json.dumps(facts, indent=1, ensure_ascii=False)
    text = re.sub(r"\[[-\d\s.,e+]+\]", lambda numbers: " ".join(numbers[0].split()), text)  # (1, 28, 28) is one line
    (path.parent / FACTS).write_text(text + "\n", encoding="utf-8")


def _input(material: Material, normalised_by: str) -> dict[str, Any]:
    normalisation = {
        "done_by": normalised_by,
        "mean": list(material.normalisation.mean),
        "std": list(material.normalisation.std),
    }
    if material.facts.layout == "vector":
        return {
            "layout": "vector",
            "shape": list(material.facts.shape),
            "axes": ["batch", "feature"],
            "dtype": "float32",
            "normalisation": {"formula": "(value - mean) / std, for each feature", "divisor": 1.0} | normalisation,
        }
    channels, height, width = material.facts.shape
    return {
        "layout": "image",
        "shape": list(material.facts.shape),
        "axes": ["batch", "channel", "row", "column"],
        "dtype": "uint8",
        "value_range": [0, 255],
        "color_order": "RGB" if channels == 3 else "grey" if channels == 1 else f"{channels} channels",
        "resizing": {
            "height": height,
            "width": width,
            "rule": "turn upright (EXIF), scale with antialiased bilinear filtering until the shorter side fits, cut the "
            "longer side evenly at both ends; a picture of this very size stays as it is",
        },
        "normalisation": {"formula": "(pixel / 255 - mean) / std, for each channel", "divisor": _PIXELS}
        | normalisation,
    }


def _weights(material: Material) -> dict[str, Any]:
    return {
        "which": "moving average (EMA) of the weights over training" if material.averaged else "weights at this step",
        "averaged": material.averaged,
        "tensors": [
            {"name": name, "shape": list(tensor.shape), "dtype": str(tensor.dtype).removeprefix("torch.")}
            for name, tensor in material.model.state_dict().items()
        ],
    }


def _source(material: Material) -> dict[str, Any]:
    manifest = material.manifest
    return {
        "run": material.run.id,
        "checkpoint": material.checkpoint.name,
        "step": manifest["step"],
        "epoch": manifest["epoch"],
        "metrics": dict(manifest.get("metrics", {})),
        "data_fingerprint": manifest["data"].get("fingerprint", ""),
        "config": config_data(material.config),
    }


def _code(usage: ModuleType, material: Material) -> list[str]:
    """The code that uses the model, as lines: that way it can be read in the JSON file itself."""
    modules = [usage, pictures] if material.facts.layout == "image" else [usage]
    texts = [inspect.getsource(module) for module in modules]
    return "\n\n".join(text.rstrip("\n") + "\n" for text in texts).splitlines()
