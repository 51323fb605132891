"""An export whose probabilities are divided by a temperature: calibrated, with the same answers."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest
import torch

from tests.training.catalog.task_samples import small
from training.answering.answers import answer_samples
from training.answering.given import Sample
from training.answering.model import open_model
from training.cli import main
from training.engine.runs.run import start_run
from training.errors import InputError
from training.export import export_checkpoint
from training.export.bundle import load_bundle
from training.predictions import list_evaluations
from training.predictions.probabilities import find_temperature


@pytest.mark.parametrize(
    "to",
    ["safetensors", pytest.param("torch-export", marks=pytest.mark.slow), pytest.param("onnx", marks=pytest.mark.slow)],
)
def test_probabilities_are_the_softmax_of_divided_logits(spiral: Path, tmp_path: Path, to: str) -> None:
    result = export_checkpoint(spiral, to, tmp_path / "model", temperature=lambda: 2.5)
    assert "temperature 2.5" in result.summary
    bundle = load_bundle(spiral)
    samples = bundle.samples()
    expected = (bundle.logits(samples).double() / 2.5).softmax(1)
    code = run_path(str(tmp_path / "model" / "model.py"))
    model, facts = code["load_model"]()
    plain = bundle.logits(samples).argmax(1).tolist()
    for number, (name, chance) in enumerate(code["predict"](model, facts, samples)):
        assert name == bundle.facts.names[plain[number]]
        assert chance == pytest.approx(float(expected[number].max()), rel=1e-4)
    if to == "safetensors":
        usable = open_model(tmp_path / "model")
        (answer,) = answer_samples(usable, [Sample(name="a", values=samples[0].numpy())])
        assert answer.chances[0].probability == pytest.approx(float(expected[0].max()), rel=1e-4)


def test_a_threshold_moves_along_and_the_fitted_temperature_is_the_validation_parts(tmp_path: Path) -> None:
    config = small(
        "binary", tmp_path / "data", "objective.threshold=0.3", "loop.max_steps=20", "schedule.kind=constant"
    )
    record = start_run(config, tmp_path)
    checkpoint = Path(str(record.last_checkpoint))
    out = tmp_path / "model"
    told = ["export", str(checkpoint), "--to", "safetensors", "--out", str(out), "--temperature", "auto"]
    assert main(told) == 0
    bundle = load_bundle(checkpoint)
    (evaluation,) = list_evaluations(bundle.run)
    temperature = find_temperature(evaluation)
    output = json.loads((out / "model.json").read_text())["output"]
    assert output["temperature"] == temperature
    logits = bundle.logits(bundle.samples()).double()[:, 0]
    code = run_path(str(out / "model.py"))
    model, facts = code["load_model"]()
    for logit, (name, chance) in zip(logits, code["predict"](model, facts, bundle.samples()), strict=True):
        is_yes = bool(torch.sigmoid(logit) >= 0.3)
        second = float(torch.sigmoid(logit / temperature))
        assert name == bundle.facts.names[is_yes]
        assert chance == pytest.approx(second if is_yes else 1 - second, rel=1e-4)
    assert np.log(output["threshold"] / (1 - output["threshold"])) == pytest.approx(np.log(0.3 / 0.7) / temperature)


def test_what_has_no_probabilities_is_refused_by_name(spiral: Path, tmp_path: Path) -> None:
    for to, temperature, words in (
        ("script", 2.0, "a script trains a model"),
        ("safetensors", 0.0, "must lie between"),
    ):
        with pytest.raises(InputError, match=words):
            export_checkpoint(spiral, to, tmp_path / "model", temperature=partial(float, temperature))
    record = start_run(small("regression", tmp_path / "data", "loop.max_steps=1", "schedule.kind=constant"), tmp_path)
    with pytest.raises(InputError, match="not for regression"):
        export_checkpoint(Path(str(record.last_checkpoint)), "safetensors", tmp_path / "model", temperature=lambda: 2.0)
    assert not (tmp_path / "model").exists()
