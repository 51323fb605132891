"""Suspicious labels: those that were flipped, found by models that did not train on them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.evaluations import make_classes, make_evaluation, make_labels, write_evaluation
from tests.training.blobs import write_blobs
from tests.training.tiny import tiny_images, write_idx
from training.cli import main
from training.engine.runs.run import start_run
from training.errors import InputError
from training.exclude_list import read_exclude_list
from training.labels.progress import fold_folder, read_progress
from training.laboratory import child
from training.predictions.suspicious import find_suspicious_labels, read_found, refuse_target
from training.runs.folder import RunFolder


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


def test_of_several_labels_those_that_were_flipped_are_named(tmp_path: Path) -> None:
    columns = make_labels(1000, 4)
    target, flipped = columns["target"], np.random.default_rng(1).choice(1000, 20, replace=False)
    columns["scores"] += 6.0 * (2.0 * target - 1.0)  # sure of the truth
    target[flipped, 1] ^= 1
    target[flipped[:5], 3] ^= 1
    found = find_suspicious_labels(
        write_evaluation(tmp_path, columns, ("cat", "dog", "fox", "owl"), target="labels", task="multi_label")
    ).found
    assert {each.number for each in found[:20]} == set(flipped.tolist())
    named = {each.number: each for each in found}
    for number in flipped.tolist():
        words = [(name if target[number, at] else f"no {name}") for at, name in ((1, "dog"), (3, "owl"))]
        assert named[number].given == ", ".join(words if number in flipped[:5] else words[:1])
        assert named[number].suggested.removeprefix("no ").split(", ")[0] == "dog"
        assert named[number].given.startswith("no ") != named[number].suggested.startswith("no ")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("values", "learns values, of which none is wrong but for being far off"),
        ("mask", "learns masks, which"),
        ("tokens", "learns text, which"),
        ("ranks", "learns ranks, which"),
        ("tasks", "learns several tasks"),
        ("class", "learns distances, which"),
    ],
)
def test_other_tasks_have_none_and_it_is_said_why(target: str, words: str) -> None:
    assert words in refuse_target(target, has_probabilities=target != "class")


def test_what_the_model_trained_on_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it has trained on them"):
        find_suspicious_labels(make_evaluation(tmp_path, on="train"))


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
