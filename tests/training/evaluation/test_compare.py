"""Two runs on the same samples: the difference with its interval, and what cannot be compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.evaluations import make_classes, write_evaluation
from tests.training.evaluation.tasks import make_config
from training.cli import main
from training.config.files import save_config
from training.engine.runs.run import start_run
from training.evaluation.compare import compare_evaluations
from training.predictions import Evaluation, Measured, list_evaluations
from training.protocol.answers import EvaluationComparison
from training.protocol.messages import CompareEvaluations, Done, Reply
from training.runs.folder import RunFolder
from training.serve import serve

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """One that learned, one that did not, and one of other data."""
    workspace = tmp_path_factory.mktemp("runs")
    made = [
        make_config("binary", workspace, loop={"epochs": 30}, optimizer={"kind": "adamw", "lr": 0.01}),
        make_config("binary", workspace, loop={"epochs": 1}, optimizer={"kind": "adamw", "lr": 1e-6}),
        make_config("binary", workspace, dataset={"samples": 400}),
    ]
    return [str(start_run(config, workspace).folder) for config in made]


def test_runs_are_compared_on_the_same_samples(runs: list[str], capsys: Captured) -> None:
    assert main(["compare", *runs[:2], "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [run["checkpoint"] != "" for run in told["runs"]] == [True, True]
    by_metric = {each["metric"]: each for each in told["comparisons"]}
    accuracy = by_metric["accuracy"]
    assert accuracy["samples"] == 60
    assert accuracy["differs"]
    assert accuracy["difference"] == pytest.approx(accuracy["values"][1] - accuracy["values"][0])
    assert accuracy["low"] <= accuracy["difference"] <= accuracy["high"] < 0.0
    assert accuracy["chance"] < 0.05
    assert accuracy["sentence"].startswith(f"{Path(runs[0]).name} is better by ")
    assert "points" in accuracy["sentence"]
    assert by_metric["loss"]["differs"]
    first, second = (list_evaluations(RunFolder(Path(run)))[0].folder for run in runs[:2])
    said: list[Reply] = []
    serve([CompareEvaluations(first=first, second=second)], said.append)
    assert isinstance(said[-1], Done)
    found = EvaluationComparison.model_validate(said[-1].result)
    assert found.sentences["accuracy"] == accuracy["sentence"].replace(Path(runs[0]).name, "A")
    assert main(["compare", runs[0], runs[0], "--json"]) == 0
    out, err = capsys.readouterr()
    assert "Both are the same checkpoint." in err
    same = json.loads(out)["comparisons"]
    assert {each["sentence"] for each in same} == {"no difference that these 60 samples can show"}


def test_other_data_and_a_single_run_are_refused(runs: list[str], capsys: Captured) -> None:
    assert main(["compare", runs[0], runs[2]]) == 2
    assert "were evaluated on different data" in capsys.readouterr().err
    assert main(["compare", runs[0]]) == 2
    assert "needs two runs or checkpoints at least" in capsys.readouterr().err


def test_of_parts_that_differ_the_common_samples_are_compared(tmp_path: Path) -> None:
    columns = make_classes(300, 3)
    names = ("a", "b", "c")
    first = write_evaluation(tmp_path / "a", {name: values[:200] for name, values in columns.items()}, names)
    second = write_evaluation(tmp_path / "b", {name: values[100:] for name, values in columns.items()}, names)
    found = compare_evaluations(first, second)
    assert found.samples == 100
    assert found.notes == (
        "Compared on the 100 samples that both have; the parts differ.",
        "They have no metric in common (classification); compare runs of the same task.",  # these records have none
    )
    # Of data that an exclude list changed, they are found by their content, whatever their numbers are.
    digests = [f"{number:032x}" for number in range(300)]
    first = write_evaluation(tmp_path / "c", columns, names, digests=digests)
    kept = {name: values[50:][::-1] for name, values in columns.items()} | {"index": np.arange(250)}
    second = write_evaluation(tmp_path / "d", kept, names, digests=digests[50:][::-1], fingerprint="f" * 16)
    by_content = compare_evaluations(first, second)
    assert by_content.samples == 250
    assert not any(each.comparison.difference.value for each in by_content.differences)


def test_the_smaller_error_is_the_better_one_whatever_the_target_is_called(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    target = draw.normal(size=(200, 1)).astype(np.float32)

    def evaluate(name: str, noise: float) -> Evaluation:
        prediction = target + draw.normal(0.0, noise, target.shape).astype(np.float32)
        columns: dict[str, Any] = {
            "target": target,
            "prediction": prediction,
            "probability": np.full_like(target, np.nan),
        }
        columns |= {"index": np.arange(200), "loss": np.square(prediction - target)[:, 0]}
        metrics = {"petal length/rmse": Measured(value=noise, low=noise, high=noise)}
        given: dict[str, Any] = {"target": "tasks", "target_classes": ((),), "metrics": metrics}
        return write_evaluation(tmp_path / name, columns, ("petal length",), **given)

    (difference,) = compare_evaluations(evaluate("a", 0.1), evaluate("b", 0.5)).differences
    assert difference.metric == "petal length/rmse"
    assert difference.sentence.startswith("A is better by 0.")
    assert "points" not in difference.sentence


def test_lists_that_are_looked_at_to_other_ranks_are_not_compared_by_them(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    target = draw.integers(0, 3, (50, 6)).astype(np.float32)

    def evaluate(name: str, top: int) -> Evaluation:
        folder = RunFolder(tmp_path / name)
        folder.path.mkdir()
        save_config(make_config("ranks", tmp_path, objective={"top": top}), folder.config_file)
        columns: dict[str, Any] = {"index": np.arange(50), "loss": np.full(50, np.nan, np.float32), "target": target}
        metrics = {metric: Measured(value=0.5, low=0.4, high=0.6) for metric in ("ndcg", "mrr")}
        columns["scores"] = draw.normal(size=target.shape).astype(np.float32)
        return write_evaluation(folder.path, columns, tuple("abcdef"), target="ranks", metrics=metrics)

    first, same, other = evaluate("a", 3), evaluate("b", 3), evaluate("c", 5)
    assert [each.metric for each in compare_evaluations(first, same).differences] == ["ndcg", "mrr"]
    assert [each.metric for each in compare_evaluations(first, other).differences] == ["mrr"]
