"""Suspicious labels: those that were flipped, found by models that did not train on them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.evaluations import make_classes, make_evaluation, write_evaluation
from tests.training.tiny import tiny_images, write_idx
from training.cli import main
from training.config import RunConfig, parse_config
from training.engine.runs.run import start_run
from training.errors import InputError
from training.exclude_list import read_exclude_list
from training.labels.progress import fold_folder, read_progress
from training.laboratory import child
from training.predictions.suspicious import find_suspicious_labels, read_found
from training.runs.folder import RunFolder
from training.toml_text import Toml

SAMPLES, FLIPPED = 300, 12


def write_blobs(folder: Path) -> tuple[RunConfig, set[int]]:
    """A run on points of three classes far from each other, and the rows whose label is wrong."""
    rng = np.random.default_rng(3)
    label = np.arange(SAMPLES) % 3
    points = rng.normal(size=(SAMPLES, 2)) + 6.0 * np.array([[0, 0], [1, 0], [0, 1]])[label]
    flipped = rng.choice(SAMPLES, FLIPPED, replace=False)
    label[flipped] = (label[flipped] + 1) % 3
    rows = [f"{x:.4f},{y:.4f},{'abc'[one]}" for (x, y), one in zip(points, label, strict=True)]
    (folder / "blobs.csv").write_text("\n".join(["x,y,kind", *rows]) + "\n")
    config: dict[str, Toml] = {
        "name": "blobs",
        "dataset": {"kind": "table", "path": str(folder / "blobs.csv"), "targets": ["kind"]},
        "model": {"kind": "mlp"},
        "loop": {"epochs": 12, "batch_size": 20},
        "optimizer": {"kind": "adamw", "lr": 0.02},
    }
    return parse_config(config), set(flipped.tolist())


@pytest.mark.slow
def test_runs_that_leave_a_fold_out_each_find_the_flipped_labels_of_the_training_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config, flipped = write_blobs(tmp_path)
    run = RunFolder(Path(start_run(config, tmp_path / "ws").folder))
    command = ["labels", str(run.path), "--on", "train", "--folds", "2", "--json"]

    def end_in_the_second(folder: RunFolder, say: child.Say, interrupt: child.Interrupt) -> child.Ended:
        if folder.id == "fold-2":
            interrupt.ask()  # the process is told to stop as soon as it began
        return child.train(folder, say, interrupt)

    with monkeypatch.context() as person:
        person.setattr("training.labels.runner.train", end_in_the_second)
        assert main(command) == 130
    told = capsys.readouterr().err
    assert told.index("2 runs of ") < told.index("[1/2] training without 120 samples")  # before anything begins
    assert read_found(run) is None
    first = fold_folder(run, 1).events_file.read_bytes()
    assert main(command) == 0
    out, told = capsys.readouterr()
    assert "[1/2] trained before" in told
    assert fold_folder(run, 1).events_file.read_bytes() == first
    reached = read_progress(run)
    assert reached is not None
    assert (reached.done, reached.fraction) == (2, 1.0)

    train = load_file(run.splits_file)["train"]
    left_out = []
    for fold in (1, 2):
        trained = load_file(fold_folder(run, fold).splits_file)["train"]
        assert set(trained) < set(train)
        left_out.append(set(train) - set(trained))
    assert left_out[0] | left_out[1] == set(train)
    assert not left_out[0] & left_out[1]

    found = read_found(run)
    assert found is not None
    assert json.loads(out.strip().splitlines()[-1])["found"] == found.model_dump(mode="json")["found"]
    assert found.samples == len(train)
    wrong = flipped & set(train.tolist())
    first_ones = [each.number for each in found.found[: len(wrong)]]
    assert len(wrong & set(first_ones)) >= 0.9 * len(wrong)
    assert all(each.given != each.suggested for each in found.found)

    listed = tmp_path / "exclude.txt"
    assert main(["evaluate", str(run.path), "--on", "train"]) == 0
    assert main(["exclude", str(run.path), *map(str, first_ones), "--list", str(listed)]) == 0
    assert read_exclude_list(listed).keys() == {each.digest for each in found.found[: len(wrong)]}


def test_the_flipped_labels_of_an_evaluation_come_first(tmp_path: Path) -> None:
    columns = make_classes(1000, 25, skill=12.0)  # of which the 20 largest scores are kept
    flipped = np.random.default_rng(1).choice(1000, 20, replace=False)
    columns["target"][flipped] = (columns["target"][flipped] + 1) % 25
    rows = np.arange(1000)
    where = columns["classes"] == columns["target"][:, None]
    columns["target_score"] = np.where(where.any(1), columns["scores"][rows, where.argmax(1)], -5).astype(np.float32)
    names = tuple(f"class {number}" for number in range(25))
    found = find_suspicious_labels(write_evaluation(tmp_path, columns, names)).found
    assert {each.number for each in found[:18]} < set(flipped.tolist())
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    for each in found[:18]:
        assert names.index(each.given) == (names.index(each.suggested) + 1) % 25


def test_what_the_model_trained_on_or_what_has_no_class_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it has trained on them"):
        find_suspicious_labels(make_evaluation(tmp_path, on="train"))
    shutil.rmtree(tmp_path / "evaluations")
    with pytest.raises(InputError, match="this run learns several labels at once"):
        find_suspicious_labels(make_evaluation(tmp_path, target="labels", task="multi_label"))


def test_folds_that_cannot_be_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = tmp_path / "earlier"
    config = tiny_images(write_idx(tmp_path / "data"), "loop.epochs=1")
    run = RunFolder(Path(start_run(config, tmp_path / "ws").folder))
    assert main(["labels", str(run.path), "--on", "train", "--folds", "1"]) == 2
    assert "--folds 1: must be from 2 to 20" in capsys.readouterr().err
    weights.mkdir()
    model = f'[model]\nkind = "torchvision"\nname = "resnet18"\nweights = "{weights}"\n\n'
    run.config_file.write_text(re.sub(r"\[model\]\n[^\[]*(\[[\d, ]+\][^\[]*)*", model, run.config_file.read_text()))
    assert main(["labels", str(run.path), "--on", "train"]) == 2
    assert "model.weights: the run that they are of may have trained on these labels" in capsys.readouterr().err
    assert not list(run.labels.glob("fold-*"))
