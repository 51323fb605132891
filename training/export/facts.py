"""``model.json``: all that is needed to use an exported model elsewhere."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import torch

import training
from training.config.files import config_data
from training.export.bundle import ExportBundle
from training.export.place import FACTS, FORMAT, TOKENIZER
from training.facts import Target
from training.runs.records.manifest import digest

VERSION = 1


def write_facts(bundle: ExportBundle, path: Path, kind: str) -> None:
    """Describe the exported file ``path`` (of format ``kind``) in a ``model.json`` beside it."""
    whose = "caller" if kind == "safetensors" else "model"
    facts = {
        "format": FORMAT,
        "version": VERSION,
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "file": {"name": path.name, "format": kind, "bytes": path.stat().st_size, "sha256": digest(path)},
        "files": sorted(each.name for each in path.parent.iterdir()),  # all that belongs together, but this one
        "task": bundle.config.objective.kind,
        "classes": list(bundle.facts.names),  # or labels, values, tokens
        "input": _input(bundle, whose),
        "output": _output(bundle, whose),
        "architecture": {
            **bundle.config.model.model_dump(mode="json"),
            "parameters": sum(parameter.numel() for parameter in bundle.model.parameters()),
        },
        "weights": _weights(bundle),
        "source": _source(bundle),
        "versions": {
            "trained_with": bundle.manifest.get("versions", {}),
            "exported_with": {"trainwright": training.__version__, "torch": torch.__version__},
        },
    }
    text = json.dumps(facts, indent=1, ensure_ascii=False)
    text = re.sub(r"\[[-\d\s.,e+]+\]", lambda numbers: " ".join(numbers[0].split()), text)  # (1, 28, 28) is one line
    (path.parent / FACTS).write_text(text + "\n", encoding="utf-8")


def _output(bundle: ExportBundle, whose: str) -> dict[str, Any]:
    facts, objective = bundle.facts, bundle.objective
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
        "threshold": getattr(bundle.config.objective, "threshold", None),  # from which probability on it is a yes
        "spread": None if spread is None or whose == "model" else {"mean": list(spread[0]), "std": list(spread[1])},
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


_AXES = {
    "image": ["channel", "row", "column"],
    "vector": ["feature"],
    "list": ["item", "feature"],
    "tokens": ["place"],
}


def _input(bundle: ExportBundle, whose: str) -> dict[str, Any]:
    facts, normalization = bundle.facts, bundle.normalization
    described: dict[str, Any] = {
        "layout": facts.layout,
        "shape": list(facts.shape),
        "axes": ["batch", *_AXES[facts.layout]],
        "dtype": {"image": "uint8", "tokens": "int64"}.get(facts.layout, "float32"),
    }
    if facts.layout == "tokens":
        described |= {"meaning": "numbers of tokens in classes", "normalisation": None}
        return described | ({"tokenizer": TOKENIZER} if facts.vocabulary else {})
    formula = "(value - mean) / std, for each feature" + "; 0 where a value is missing (NaN)" * normalization.missing
    if facts.layout == "image":
        formula = "(pixel / 255 - mean) / std, for each channel"
        channels, height, width = facts.shape
        rule = (
            "turn upright (EXIF), scale with antialiased bilinear filtering until the shorter side fits, cut the longer side "
            "evenly at both ends; an image of this very size stays as it is"
        )
        described |= {
            "value_range": [0, 255],
            "color_order": {3: "RGB", 1: "grayscale"}.get(channels, f"{channels} channels"),
            "resizing": {"height": height, "width": width, "rule": rule},
        }
    else:
        described["features"] = _features(bundle)
    return described | {
        "normalisation": {
            "formula": formula,
            "divisor": 255.0 if facts.layout == "image" else 1.0,
            "done_by": whose,
            "mean": list(normalization.mean),
            "std": list(normalization.std),
            "missing": normalization.missing,
        }
    }


def _features(bundle: ExportBundle) -> list[dict[str, Any]]:
    """Name of each feature; of a category the texts that its codes 1, 2, ... stand for; of a mark the column whose gaps it
    marks."""
    facts, marking = bundle.facts, getattr(bundle.config.dataset, "missing_indicator", False)
    listed = []
    for place, name in enumerate(facts.columns):
        column = name.removesuffix(" missing")
        marks = column if marking and column != name and column in facts.columns[:place] else None
        coded = bool(facts.categories) and facts.categories[place] > 0
        listed.append({"name": name, "categories": list(facts.codes[place]) if coded else None, "marks": marks})
    return listed


def _weights(bundle: ExportBundle) -> dict[str, Any]:
    swa = bundle.config.loop.swa_start is not None
    average = (
        "equal average (SWA) of the weights over the last stretch of training"
        if swa
        else "moving average (EMA) of the weights over training"
    )
    return {
        "which": average if bundle.averaged else "weights at this step",
        "averaged": bundle.averaged,
        "tensors": [
            {"name": name, "shape": list(tensor.shape), "dtype": str(tensor.dtype).removeprefix("torch.")}
            for name, tensor in bundle.model.state_dict().items()
        ],
    }


def _source(bundle: ExportBundle) -> dict[str, Any]:
    manifest = bundle.manifest
    return {
        "run": bundle.run.id,
        "checkpoint": bundle.checkpoint.name,
        "step": manifest["step"],
        "epoch": manifest["epoch"],
        "metrics": dict(manifest.get("metrics", {})),
        "data_fingerprint": manifest["data"].get("fingerprint", ""),
        "config": config_data(bundle.config),
    }
