"""A checkpoint measured sample by sample: the run's own numbers, with intervals, and columns that say the same."""

from __future__ import annotations

import json
import math
import re
import warnings
from pathlib import Path

import numpy as np
import polars
import pytest
from PIL import Image
from safetensors.torch import load_file

from tests.evaluations import make_record
from tests.training.data.own_files import written
from tests.training.evaluation.tasks import TASKS, make_config, write_data, write_images
from training.cli import main
from training.config.sections.objective import Classification
from training.engine import prediction_log
from training.engine.runs.run import start_run
from training.evaluation import evaluate
from training.evaluation.summary import measure_intervals
from training.facts import DataFacts
from training.metric_names import title_of
from training.predictions import Evaluation, list_evaluations, read
from training.predictions.reading import find_damage
from training.runs.folder import RunFolder
from training.runs.records.history import read_history
from training.runs.records.manifest import list_checkpoints, read_manifest


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


def find_trivial_loss(task: str, run: RunFolder, found: Evaluation, path: Path) -> float | None:
    """What the loss of the training part's shares, or of its mean, is by the definition of each."""
    if task == "embedding":
        return None
    if task == "ranks":
        return 1.0  # the margin
    if task == "tokens":
        perplexity = found.record.metrics["perplexity"].baseline
        return None if perplexity is None else math.log(perplexity.value)
    facts, target = (
        DataFacts.from_record(read_manifest(list_checkpoints(run)[0].path).data.dump()),
        found.column("target"),
    )
    counts = np.array(facts.counts or [1.0])
    shares, odds = counts / counts.sum(), counts / facts.samples
    if task == "mask":
        areas = found.column("support").astype(np.float64)
        overlap = 1.0 - (2.0 * shares * areas + 1.0) / (shares * areas.sum(1, keepdims=True) + areas + 1.0)
        entropy = -(areas.sum(0) * np.log(shares)).sum() / areas.sum()
        return float(0.5 * entropy + 0.5 * np.nanmean(np.where(areas > 0, overlap, np.nan), axis=1).mean())
    if task == "tasks":
        train = load_file(run.splits_file)["train"].numpy()
        table = polars.read_csv(path).select("kind", "height", "a")
        own = [table[train.tolist(), at].value_counts().rows() for at in (0, 2)]
        known = [{str(name): count / len(train) for name, count in each} for each in own]
        names = found.record.target_classes
        chances = [[known[0][names[0][int(row[0])]], known[1][names[2][int(row[2])]]] for row in target]
        heights = table[train.tolist(), 1].to_numpy()
        return float(np.mean(np.square((target[:, 1] - heights.mean()) / heights.std()) - np.log(chances).sum(1)))
    if task == "values":
        return float(np.mean(np.square((target - facts.target_mean) / facts.target_std)))
    if task == "labels":
        return float(-np.mean(np.where(target > 0, np.log(odds), np.log1p(-odds))))
    smooth = 0.1 if task == "images" else 0.0
    return float(-np.mean((1.0 - smooth) * np.log(shares[target]) + smooth * np.log(shares).mean()))


@pytest.mark.parametrize("task", TASKS)
def test_an_evaluation_has_the_run_s_own_numbers_with_intervals(
    task: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objective = {"loss": "dice_cross_entropy"} if task == "mask" else {}
    record = start_run(make_config(task, data, objective=objective), tmp_path)
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
    for name, measured in found.record.metrics.items():  # each is compared with something, or says why it is not
        assert (measured.baseline is None) == any(each.startswith("no baseline: ") for each in measured.lacks), name
    of_loss, expected = found.record.metrics["loss"].baseline, find_trivial_loss(task, run, found, data / "table.csv")
    assert (of_loss is None) == (expected is None)
    if of_loss is not None:
        assert of_loss.value == pytest.approx(expected, rel=1e-6)
    if task == "tokens":
        baseline = found.record.metrics["perplexity"].baseline
        assert baseline is not None
        assert baseline.name == "bigram"
        assert 1.0 < baseline.value < len(found.record.names)
        accuracy = found.record.metrics["accuracy"].baseline
        assert accuracy is not None
        assert accuracy.value > 1.0 / len(found.record.names)
    if task == "embedding":
        measured = found.record.metrics["recall_at_1"]
        assert measured.baseline is not None
        assert measured.value is not None
        assert measured.baseline.name == "random embedding"
        assert measured.baseline.value < measured.value
    if task == "tasks":  # each target is compared with its own simple predictors
        for target in ("kind", "height", "a"):
            name = next(each for each in found.record.metrics if each.startswith(f"{target}/"))
            measured = found.record.metrics[name]
            assert measured.low is not None
            simple = [each.value for each in (measured.baseline, measured.linear) if each is not None]
            said = any(f"{title_of(name)} " in note for note in found.record.notes)
            assert said == any(measured.low <= value for value in simple)
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
    said = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"evaluating \d+ samples, [\d.]+ kB of files", said[0])
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

    checkpoint = next(iter(sorted(spiral.checkpoints.iterdir())))
    once = ["evaluate", str(checkpoint), "--on", "train", "--json"]
    assert main(once) == 0
    whole = [*once, "--again"]
    expected = json.loads(capsys.readouterr().out)
    folder = Path(expected["folder"])
    columns = {path.name: path.read_bytes() for path in folder.glob("*.npy")}
    unfinished = folder.with_name(f".{folder.name}.again")

    class Killed(BaseException):
        pass

    def die(*_arguments: object) -> None:
        raise Killed

    def kill_after(batches: int) -> int:
        """How many samples are safe then, beside the evaluation that was there."""
        real = prediction_log.PredictionLog.take
        taken: list[object] = []

        def take(log: prediction_log.PredictionLog, *batch: object) -> None:
            if len(taken) == batches:
                raise Killed
            taken.append(batch)
            real(log, *batch)  # type: ignore[arg-type]

        with monkeypatch.context() as dying:
            dying.setattr(prediction_log.PredictionLog, "take", take)
            dying.setattr(evaluate, "summarize", die)
            with pytest.raises(Killed):
                main(whole)
        assert main(once) == 0
        assert json.loads(capsys.readouterr().out) == expected
        return int(json.loads((unfinished / "evaluation.json").read_text())["done"])

    monkeypatch.setattr(prediction_log, "BLOCK_BYTES", 1)
    monkeypatch.setattr(prediction_log, "SAVE_SECONDS", 0.0)
    first = kill_after(1)
    assert 0 < first < expected["samples"]
    known = unfinished / f".measured-{first:012d}.pt"
    known.with_name(f".measured-{first + 1:012d}.pt").write_bytes(known.read_bytes())  # of samples that were not safe
    assert first < kill_after(2) < expected["samples"]
    assert kill_after(1000) == expected["samples"]
    with monkeypatch.context() as complete:
        complete.setattr(prediction_log.PredictionLog, "take", die)  # nothing is left to be asked
        assert main(whole) == 0
    assert json.loads(capsys.readouterr().out) == expected
    assert {path.name: path.read_bytes() for path in folder.glob("*.npy")} == columns
    assert not list(folder.glob(".measured*"))
    assert not unfinished.exists()


def test_a_loss_of_one_s_own_is_the_same_beside_kept_predictions(tmp_path: Path) -> None:
    """One that draws, and that takes no single sample."""
    text = """
import torch
from torch.nn import functional


def build(classes: int):
    def loss(outputs, targets):
        if len(outputs) < 2:
            raise IndexError("nothing to compare")
        return functional.cross_entropy(outputs + torch.rand(1), targets)

    return loss
"""
    objective = written(tmp_path, text, "user_loss")
    found = []
    for keep in (False, True):
        config = make_config(
            "class", tmp_path, objective=objective, loop={"keep_predictions": keep, "validation_batch_size": 16}
        )
        run = RunFolder(Path(start_run(config, tmp_path).folder))
        found.append([each.metrics for each in read_history(run.events_file).validations])
    assert found[0] == found[1]
    assert np.isnan(list_evaluations(run)[0].column("loss")).all()


def test_the_size_of_an_image_s_file_is_a_property_of_it(tmp_path: Path) -> None:
    folder = write_images(tmp_path / "images")
    Image.open(folder / "owl" / "003.png").resize((30, 20)).save(folder / "owl" / "003.png")
    upright = Image.Exif()
    upright[0x0112] = 6  # turned by a quarter
    Image.new("RGB", (40, 24)).save(folder / "cat" / "portrait.jpg", exif=upright)
    dataset = {"image_size": 12, "validation_fraction": 0.5}
    run = RunFolder(Path(start_run(make_config("images", tmp_path, dataset=dataset), tmp_path).folder))
    sizes: dict[str, list[float]] = {}
    for part in ("validation", "train"):
        assert main(["evaluate", str(run.path), "--on", part]) == 0
    for found in list_evaluations(run):
        assert found.record.properties == ("brightness", "contrast", "sharpness", "width", "height")
        sizes |= dict(zip(found.names, found.column("properties")[:, 3:].tolist(), strict=True))
    assert sizes.pop("owl/003.png") == [30.0, 20.0]
    assert sizes.pop("cat/portrait.jpg") == [24.0, 40.0]
    assert set(map(tuple, sizes.values())) == {(12.0, 12.0)}


def test_samples_of_a_group_are_not_taken_for_independent_ones() -> None:
    draw = np.random.default_rng(0)
    right = np.repeat(draw.random(40) < 0.7, 10)
    columns = {name: np.zeros(400, np.int32) for name in ("index", "target")}
    columns |= {
        "loss": np.zeros(400, np.float32),
        "group": np.repeat(np.arange(40), 10),
        "prediction": (~right).astype(np.int32),
    }
    columns |= {
        "scores": np.zeros((400, 2), np.float32),
        "target_score": np.zeros(400, np.float32),
        "log_sum": np.zeros(400, np.float32),
    }

    def width(**chosen: np.ndarray) -> float:
        record = make_record(chosen, ("a", "b"))
        found = measure_intervals(record, chosen, Classification(), {"accuracy": float(right.mean())})
        measured, (_, low, high) = found.metrics["accuracy"], found.per_class["recall"][0]
        assert (measured.low, measured.high) == pytest.approx((low, high))  # all are of the first class
        assert low is not None
        assert high is not None
        return high - low

    apart = {name: each for name, each in columns.items() if name != "group"}
    assert width(**columns) > 2.0 * width(**apart)
    some = {name: np.concatenate([each, each[:40]]) for name, each in columns.items()}
    some["target"][400:] = -1  # which do not count
    assert width(**some) == pytest.approx(width(**columns))
