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
from training.export.tokenizer import FILE as TOKENIZER
from training.export.usage import answers, pictures, rows, weights
from training.facts import Target
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
        "files": sorted(each.name for each in path.parent.iterdir()),  # all that belongs together, but this one
        "task": material.config.objective.kind,
        "classes": list(material.facts.names),  # or labels, values, tokens
        "input": _input(material, normalised_by="caller" if usage is weights else "model"),
        "output": _output(material, undone_by="caller" if usage is weights else "model"),
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


def _output(material: Material, undone_by: str) -> dict[str, Any]:
    facts, objective = material.facts, material.objective
    count, spread = objective.outputs, objective.spread
    sizes = {
        "mask": ["batch", count, *facts.shape[1:]],
        "tokens": ["batch", *facts.shape, count],
        "ranks": ["batch", facts.shape[0]],
    }
    makes = {
        "softmax": "; softmax makes them probabilities",
        "sigmoid": "; the logistic function makes each a probability",
    }
    return {
        "kind": facts.target,
        "shape": sizes.get(facts.target, ["batch", count]),
        "dtype": "float32",
        "meaning": _MEANINGS[facts.target] + makes.get(objective.probabilities, ""),
        "probabilities": objective.probabilities,
        "threshold": getattr(material.config.objective, "threshold", None),  # from which probability on it is a yes
        "spread": None if spread is None or undone_by == "model" else {"mean": list(spread[0]), "std": list(spread[1])},
    }


_MEANINGS: dict[Target, str] = {
    "class": "one score (logit) for each class, in the order of classes (of two classes one for the second alone, where "
    "there is one score)",
    "labels": "one score (logit) for each label, in the order of classes",
    "values": "each value, in the order of classes and in its own unit",
    "mask": "for each pixel one score (logit) for each class, in the order of classes (of two classes one for the second "
    "alone, where there is one score)",
    "tokens": "for each place one score (logit) for each token that may follow, in the order of classes",
    "ranks": "one score for each item: the higher, the better it suits the query",
}


def _input(material: Material, normalised_by: str) -> dict[str, Any]:
    facts = material.facts
    if facts.layout == "tokens":
        return {
            "layout": "tokens",
            "shape": list(facts.shape),
            "axes": ["batch", "place"],
            "dtype": "int64",
            "meaning": "numbers of tokens in classes",
            "normalisation": None,
        } | ({"tokenizer": TOKENIZER} if facts.vocabulary else {})
    normalisation = {
        "done_by": normalised_by,
        "mean": list(material.normalisation.mean),
        "std": list(material.normalisation.std),
        "missing": material.normalisation.missing,
    }
    if facts.layout != "image":
        return {
            "layout": facts.layout,
            "shape": list(facts.shape),
            "axes": ["batch", "feature"] if facts.layout == "vector" else ["batch", "item", "feature"],
            "dtype": "float32",
            "features": _features(material),
            "normalisation": {
                "formula": "(value - mean) / std, for each feature; 0 where a value is missing (NaN)"
                if material.normalisation.missing
                else "(value - mean) / std, for each feature",
                "divisor": 1.0,
            }
            | normalisation,
        }
    channels, height, width = facts.shape
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


def _features(material: Material) -> list[dict[str, Any]]:
    """Name of each feature; of a category the texts that its codes 1, 2, ... stand for; of a mark the column whose gaps it
    marks."""
    facts, marking = material.facts, getattr(material.config.dataset, "missing_indicator", False)
    listed = []
    for place, name in enumerate(facts.columns):
        column = name.removesuffix(" missing")
        marks = column if marking and column != name and column in facts.columns[:place] else None
        coded = bool(facts.categories) and facts.categories[place] > 0
        listed.append({"name": name, "categories": list(facts.codes[place]) if coded else None, "marks": marks})
    return listed


def _weights(material: Material) -> dict[str, Any]:
    swa = material.config.loop.swa_start is not None
    average = (
        "equal average (SWA) of the weights over the last stretch of training"
        if swa
        else "moving average (EMA) of the weights over training"
    )
    return {
        "which": average if material.averaged else "weights at this step",
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
    modules = [usage, answers]
    if material.facts.layout == "image":
        modules.append(pictures)
    if material.facts.columns:
        modules.append(rows)
    lines = "\n\n".join(inspect.getsource(module).rstrip("\n") + "\n" for module in modules).splitlines()
    return [line for line in lines if not line.startswith("from training.")]  # what they have of each other is here
