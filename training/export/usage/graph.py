"""Use an exported graph (ONNX) without Trainwright or torch. Normalization is part of it, and so are the answers (see its outputs)."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from training.export.usage.facts import ModelFacts
from training.export.usage.preprocess import load_facts
from training.export.usage.samples import answers


def load_model() -> tuple[Any, ModelFacts]:
    """The session, and the facts in model.json."""
    facts = load_facts()
    path = str(Path(__file__).with_name(facts["file"]["name"]))
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]), facts


def logits(model: Any, facts: ModelFacts, samples: Any) -> Any:
    """The model's scores of samples (n, *shape), an array or tensor in the dtype that ``facts["input"]`` names: images with their
    channels first, which the graph itself takes last. The plain variant of the graph will do, too."""
    samples = np.asarray(samples)
    names = [each.name for each in model.get_inputs()]
    if names[0] == "images":
        samples = samples.transpose(0, 2, 3, 1)
    given = {names[0]: samples}
    if len(names) > 1:  # how many tokens are of the text
        given[names[1]] = np.full(len(samples), samples.shape[1], np.int64)
    return model.run(["logits"], given)[0]


def predict(model: Any, facts: ModelFacts, samples: Any) -> list[Any]:
    """What the model says of each sample, in the form of ``answers``."""
    return answers(facts, logits(model, facts, samples))
