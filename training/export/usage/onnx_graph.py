"""Use a graph exported by Trainwright (ONNX), without Trainwright or torch: needs onnxruntime and numpy."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from training.export.usage.answers import answers

Facts = dict[str, Any]


def load_model(folder: str | Path) -> tuple[Any, Facts]:
    """The session and the facts of model.json; ``folder`` holds both files. Normalisation is part of the graph."""
    facts = json.loads((Path(folder) / "model.json").read_text(encoding="utf-8"))
    path = str(Path(folder) / facts["file"]["name"])
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]), facts


def logits(model: Any, facts: Facts, samples: Any) -> Any:
    """The model's scores of samples (n, *shape), an array or tensor in the dtype that ``facts["input"]`` names."""
    return model.run(["logits"], {"samples": np.asarray(samples)})[0]


def predict(model: Any, facts: Facts, samples: Any) -> list[Any]:
    """What the model says of each sample, in the form of ``answers``."""
    return answers(facts, logits(model, facts, samples))
