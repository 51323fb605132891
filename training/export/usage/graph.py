"""Use an exported graph (ONNX) without Trainwright or torch. Normalization is part of it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from training.export.usage.samples import answers


def load_model() -> tuple[Any, dict[str, Any]]:
    """The session, and the facts in model.json."""
    folder = Path(__file__).parent
    facts = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    path = str(folder / facts["file"]["name"])
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]), facts


def logits(model: Any, facts: dict[str, Any], samples: Any) -> Any:
    """The model's scores of samples (n, *shape), an array or tensor in the dtype that ``facts["input"]`` names."""
    return model.run(["logits"], {"samples": np.asarray(samples)})[0]


def predict(model: Any, facts: dict[str, Any], samples: Any) -> list[Any]:
    """What the model says of each sample, in the form of ``answers``."""
    return answers(facts, logits(model, facts, samples))
