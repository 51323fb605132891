"""An export whose probabilities are divided by a temperature: calibrated, with the same answers."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from runpy import run_path

import numpy as np
import onnxruntime
import pytest
import torch

from tests.training.catalog.task_samples import small
from training.answering.answers import answer_samples
from training.answering.given import Sample
from training.answering.model import open_model
from training.cli import main
from training.engine.runs.run import start_run
from training.errors import InputError
from training.export import Choices, export_checkpoint
from training.export.bundle import load_bundle
from training.predictions import list_evaluations
from training.predictions.probabilities import find_temperature


@pytest.mark.parametrize(
    "to",
    ["safetensors", pytest.param("torch-export", marks=pytest.mark.slow), pytest.param("onnx", marks=pytest.mark.slow)],
)
def test_probabilities_are_the_softmax_of_divided_logits(spiral: Path, tmp_path: Path, to: str) -> None:
    result = export_checkpoint(spiral, to, tmp_path / "model", choices=Choices(temperature=lambda: 2.5))
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


@pytest.mark.slow
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
    chances = torch.sigmoid(logits).numpy()
    dragged = float(np.sort(chances)[4:6].mean())  # between two samples: as the tab Evaluate gives it
    export_checkpoint(checkpoint, "onnx", tmp_path / "graph", choices=Choices(threshold=lambda: (dragged,)))
    session = onnxruntime.InferenceSession(str(tmp_path / "graph" / "model.onnx"))
    names, index = session.run(["class", "index"], {"features": bundle.samples().numpy()})
    assert index.tolist() == (chances >= dragged).astype(int).tolist()
    assert index.sum() == len(chances) - 5
    assert names.tolist() == [bundle.facts.names[each] for each in index]


def test_what_has_no_probabilities_is_refused_by_name(spiral: Path, tmp_path: Path) -> None:
    for to, temperature, words in (
        ("script", 2.0, "a script trains a model"),
        ("safetensors", 0.0, "must lie between"),
    ):
        with pytest.raises(InputError, match=words):
            export_checkpoint(spiral, to, tmp_path / "model", choices=Choices(temperature=partial(float, temperature)))
    record = start_run(small("regression", tmp_path / "data", "loop.max_steps=1", "schedule.kind=constant"), tmp_path)
    with pytest.raises(InputError, match="not for regression"):
        export_checkpoint(
            Path(str(record.last_checkpoint)),
            "safetensors",
            tmp_path / "model",
            choices=Choices(temperature=lambda: 2.0),
        )
    assert not (tmp_path / "model").exists()


def test_thresholds_are_those_of_the_best_f1_and_go_along(tmp_path: Path) -> None:
    config = small("multi_label", tmp_path / "data", "loop.max_steps=20", "schedule.kind=constant")
    checkpoint = Path(str(start_run(config, tmp_path).last_checkpoint))
    out = tmp_path / "auto"
    words = ["export", str(checkpoint), "--to", "safetensors", "--out"]
    assert main([*words, str(out), "--threshold", "auto"]) == 0
    output = json.loads((out / "model.json").read_text())["output"]
    evaluation = next(each for each in list_evaluations(load_bundle(checkpoint).run) if each.record.on == "validation")
    chances = 1.0 / (1.0 + np.exp(-np.asarray(evaluation.column("scores"), np.float64)))
    truth = np.asarray(evaluation.column("target")) > 0

    def f1(label: int, threshold: float) -> float:
        told = chances[:, label] >= threshold
        return float(2.0 * (told & truth[:, label]).sum() / np.maximum(1, told.sum() + truth[:, label].sum()))

    for label, threshold in enumerate(output["thresholds"]):
        assert f1(label, threshold) == pytest.approx(max(f1(label, each) for each in chances[:, label]))
    usable = open_model(out)
    samples = load_bundle(checkpoint).samples()
    answers = answer_samples(usable, [Sample(name="a", values=each.numpy()) for each in samples])
    for answer in answers:
        least = dict(zip(usable.facts["classes"], output["thresholds"], strict=True))
        assert set(answer.prediction) == {each.name for each in answer.chances if each.probability >= least[each.name]}
    for given, sentence in (((0.2, 0.3, 0.4), "3 numbers are given"), ((1.0,), "must lie"), ((np.nan,), "must lie")):
        choices = Choices(threshold=partial(tuple, given))
        with pytest.raises(InputError, match=sentence):
            export_checkpoint(checkpoint, "safetensors", tmp_path / "no", choices=choices)
    assert main([*words, str(tmp_path / "given"), "--threshold", "0.2,0.6", "--temperature", "2"]) == 0
    moved = json.loads((tmp_path / "given" / "model.json").read_text())["output"]["thresholds"]
    assert [np.log(each / (1 - each)) * 2 for each in moved] == pytest.approx([np.log(0.25), np.log(1.5)])
