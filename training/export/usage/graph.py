"""Use an exported graph (ONNX) without Trainwright or torch. Normalization is part of it."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from training.export.usage.facts import ModelFacts
from training.export.usage.samples import answers, load_facts


def load_model() -> tuple[Any, ModelFacts]:
    """The session, and the facts in model.json."""
    facts = load_facts()
    path = str(Path(__file__).with_name(facts["file"]["name"]))
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]), facts


def logits(model: Any, facts: ModelFacts, samples: Any) -> Any:
    """The model's scores of samples (n, *shape), an array or tensor in the dtype that ``facts["input"]`` names."""
    return model.run(["logits"], {"samples": np.asarray(samples)})[0]


def predict(model: Any, facts: ModelFacts, samples: Any) -> list[Any]:
    """What the model says of each sample, in the form of ``answers``."""
    return answers(facts, logits(model, facts, samples))
