"""A checkpoint measured sample by sample: the run's own numbers, with intervals, and columns that say the same."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from tests.evaluations import make_classes, make_record
from tests.training.evaluation.tasks import TASKS, make_config, write_data
from training.cli import main
from training.engine.runs.run import start_run
from training.evaluation.baselines import answer_trivially
from training.evaluation.scores import measure_columns
from training.facts import DataFacts
from training.predictions import read
from training.predictions.reading import find_damage
from training.runs.folder import RunFolder
from training.runs.records.history import read_history


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def spiral(data: Path, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return RunFolder(
        Path(
            start_run(
                make_config("class", data, loop={"validation_batch_size": 16}), tmp_path_factory.mktemp("spiral")
            ).folder
        )
    )


def files_of(run: RunFolder) -> dict[str, bytes]:
    """All of a run but its evaluations."""
    paths = (path for path in run.path.rglob("*") if path.is_file() and run.evaluations not in path.parents)
    return {str(path.relative_to(run.path)): path.read_bytes() for path in paths}


@pytest.mark.parametrize("task", TASKS)
def test_an_evaluation_has_the_run_s_own_numbers_with_intervals(
    task: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = start_run(make_config(task, data), tmp_path)
    run = RunFolder(Path(record.folder))
    before = files_of(run)
    assert main(["evaluate", str(record.last_checkpoint), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert files_of(run) == before
    found = read(Path(told["folder"]))
    assert find_damage(found) == ""
    validated = read_history(run.events_file).validations[-1]
    assert validated.step == found.record.step
    for name, value in validated.metrics.items():
        measured = found.record.metrics[name.removeprefix("val/")]
        if np.isnan(value):
            assert measured.value is None
            continue
        assert measured.value == value, name
        if task == "embedding" and name == "val/loss":
            continue
        assert measured.low is not None, name
        assert measured.high is not None, name
        assert measured.low <= value <= measured.high
    for name, form in found.record.columns.items():
        assert found.column(name).shape == (found.record.samples, *form.shape)
    assert sorted(found.column("index").tolist()) == sorted(set(found.column("index").tolist()))
    assert len(found.names) == found.record.samples
    if task == "tokens":
        baseline = found.record.metrics["perplexity"].baseline
        assert baseline is not None
        assert baseline.name == "bigram"
        assert 1.0 < baseline.value < len(found.record.names)
        accuracy = found.record.metrics["accuracy"].baseline
        assert accuracy is not None
        assert accuracy.value > 1.0 / len(found.record.names)
    if task == "table class":
        assert found.rows is not None
        assert [str(kind) for kind in found.rows["kind"]] == [
            found.record.names[number] for number in found.column("target").tolist()
        ]
        assert found.record.metrics["accuracy"].linear is not None


def test_a_student_s_agreement_with_its_teacher_has_an_interval(
    spiral: RunFolder, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = make_config("class", data, objective={"kind": "distillation", "teacher": str(spiral.path)})
    run = start_run(config, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main(["evaluate", str(run.last_checkpoint), "--json"]) == 0
    metrics = json.loads(capsys.readouterr().out)["metrics"]
    for name in ("loss", "accuracy", "agreement"):
        assert metrics[name]["value"] == run.metrics[f"val/{name}"]
        assert metrics[name]["low"] <= metrics[name]["value"] <= metrics[name]["high"]


def test_it_is_computed_once_and_again_when_asked_or_damaged(
    spiral: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(spiral.path)]) == 0
    folder = next(spiral.evaluations.glob("step-*-validation"))
    made = (folder / "evaluation.json").stat().st_mtime_ns
    assert main(["evaluate", str(spiral.path)]) == 0
    assert (folder / "evaluation.json").stat().st_mtime_ns == made
    first = (folder / "evaluation.json").read_bytes()
    assert main(["evaluate", str(spiral.path), "--again"]) == 0
    assert (folder / "evaluation.json").stat().st_mtime_ns != made
    assert (folder / "evaluation.json").read_bytes() == first
    content = (folder / "scores.npy").read_bytes()
    (folder / "scores.npy").write_bytes(content[:-4])
    assert main(["evaluate", str(spiral.path)]) == 0
    assert (folder / "scores.npy").read_bytes() == content


def test_what_cannot_be_evaluated_is_told(
    spiral: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(spiral.path), "--on", "test"]) == 2
    assert "--on test: the run's data has no test part; choose train or validation." in capsys.readouterr().err


def test_a_killed_evaluation_goes_on_to_the_same_numbers(
    spiral: RunFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from training.engine import prediction_log

    checkpoint = next(iter(sorted(spiral.checkpoints.iterdir())))
    whole = ["evaluate", str(checkpoint), "--on", "train", "--json"]
    assert main(whole) == 0
    expected = json.loads(capsys.readouterr().out)
    folder = Path(expected["folder"])
    columns = {path.name: path.read_bytes() for path in folder.glob("*.npy")}

    class Killed(BaseException):
        pass

    monkeypatch.setattr(prediction_log, "BLOCK_BYTES", 1)
    monkeypatch.setattr(prediction_log, "SAVE_SECONDS", 0.0)
    with monkeypatch.context() as dying:
        real = prediction_log.PredictionLog.take
        taken: list[object] = []

        def take(log: prediction_log.PredictionLog, *batch: object) -> None:
            if len(taken) == 1:
                raise Killed
            taken.append(batch)
            real(log, *batch)  # type: ignore[arg-type]

        dying.setattr(prediction_log.PredictionLog, "take", take)
        with pytest.raises(Killed):
            main([*whole, "--again"])
    done = json.loads((folder / "evaluation.json").read_text())["done"]
    assert 0 < done < expected["samples"]
    assert main(whole) == 0
    assert json.loads(capsys.readouterr().out) == expected
    assert {path.name: path.read_bytes() for path in folder.glob("*.npy")} == columns


def test_five_answers_without_looking_are_the_five_most_frequent_classes() -> None:
    columns = make_classes(1000, 10)
    record = make_record(columns, tuple("abcdefghij"))
    facts = DataFacts(target="class", layout="vector", shape=(2,), names=record.names, counts=(100,) * 10)
    answered = answer_trivially(record, facts, columns)
    assert answered is not None
    top = measure_columns(record, answered[1], top=1).whole["top5_accuracy"]
    assert top.value == (columns["target"] < 5).mean()
