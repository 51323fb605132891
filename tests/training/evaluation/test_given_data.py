"""Data given as a path: the same samples give the same numbers, and others are refused by name before anything runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.training.evaluation.tasks import make_config, write_data, write_images, write_masks, write_table, write_text
from training.cli import main
from training.data.browse import Browser
from training.engine.runs.run import start_run
from training.predictions import read
from training.protocol.messages import ReadSamples
from training.runs.folder import RunFolder

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def runs(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunFolder]:
    workspace = tmp_path_factory.mktemp("workspace")
    tasks = ("images", "table class", "tasks", "mask", "tokens", "idx", "npz", "image table")
    return {task: RunFolder(Path(start_run(make_config(task, data), workspace).folder)) for task in tasks}


@pytest.mark.parametrize(
    ("task", "place"),
    [
        ("images", "images"),
        ("table class", "table.csv"),
        ("tasks", "table.csv"),
        ("mask", "masks"),
        ("tokens", "text.txt"),
        ("idx", "idx"),
        ("npz", "rows.npz"),
        ("image table", "images.csv"),
    ],
)
def test_the_run_s_own_files_give_the_same_answers(
    task: str, place: str, data: Path, runs: dict[str, RunFolder], capsys: Captured
) -> None:
    run = runs[task]
    assert main(["evaluate", str(run.path), "--json"]) == 0
    own = read(Path(json.loads(capsys.readouterr().out)["folder"]))
    assert main(["evaluate", str(run.path), "--on", str(data / place), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    found = read(Path(told["folder"]))
    assert found.record.on == str(data / place)
    assert found.record.names == own.record.names
    if task == "tokens":  # whose windows begin elsewhere
        assert found.record.samples > own.record.samples
        return
    here = {name: place for place, name in enumerate(found.names)}
    places = [here[name] for name in own.names]
    for name in own.record.columns.keys() - {"index"}:
        np.testing.assert_allclose(found.column(name)[places], own.column(name), rtol=1e-4, atol=1e-5)
    made = (found.folder / "evaluation.json").stat().st_mtime_ns
    assert main(["evaluate", str(run.path), "--on", str(data / place)]) == 0
    assert (found.folder / "evaluation.json").stat().st_mtime_ns == made


def test_the_window_is_shown_the_images_of_given_data(runs: dict[str, RunFolder], tmp_path: Path) -> None:
    write_images(tmp_path / "two", ("owl", "cat"), each=3)
    asked = ReadSamples(run=runs["images"].path, on=str(tmp_path / "two"), numbers=(4, 0))
    page = Browser(keeps=False).read_samples(asked)
    assert [(sample.name, sample.label, sample.width) for sample in page.samples] == [
        ("owl/001.png", "owl", 12),
        ("cat/000.png", "cat", 12),
    ]


def test_fewer_classes_and_new_categories_are_taken(
    runs: dict[str, RunFolder], tmp_path: Path, capsys: Captured
) -> None:
    for name, classes in (("two", ("owl", "cat")), ("one", ("dog",))):
        write_images(tmp_path / name, classes, each=3)
        assert main(["evaluate", str(runs["images"].path), "--on", str(tmp_path / name), "--json"]) == 0
        found = read(Path(json.loads(capsys.readouterr().out)["folder"]))
        assert {found.record.names[number] for number in found.column("target")} == set(classes)
    table = write_table(tmp_path / "other.csv", 40, seed=3)
    table.write_text(table.read_text().replace("red", "blue"))
    assert main(["evaluate", str(runs["table class"].path), "--on", str(table), "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert any("'blue' in color was not in the training data and counts as unknown" in note for note in notes)


def test_other_data_is_refused_by_name(runs: dict[str, RunFolder], tmp_path: Path, capsys: Captured) -> None:
    def refuse(task: str, place: Path, sentence: str) -> None:
        assert main(["evaluate", str(runs[task].path), "--on", str(place)]) == 2
        assert sentence in capsys.readouterr().err

    write_images(tmp_path / "images", ("cat", "emu"), each=3)
    refuse(
        "images", tmp_path / "images", "has the class 'emu', which the network does not know: it knows cat, dog, owl"
    )
    table = write_table(tmp_path / "table.csv", 30)
    lines = table.read_text().splitlines()
    (tmp_path / "narrow.csv").write_text("\n".join(line.partition(",")[2] for line in lines))
    refuse("table class", tmp_path / "narrow.csv", "has no column 'size'")
    (tmp_path / "kinds.csv").write_text(table.read_text().replace("oak", "yew"))
    refuse("table class", tmp_path / "kinds.csv", "column 'kind' has the class 'yew', which the network does not know")
    (tmp_path / "untold.csv").write_text(table.read_text().replace("kind", "sort"))
    refuse("table class", tmp_path / "untold.csv", "has no column 'kind', which the network predicts")
    refuse("tokens", write_text(tmp_path / "short.txt", lines=1), "has 10 tokens, but the network reads windows of 16")
    refuse("images", tmp_path / "nothing", "there is no such file or folder")
    masks = write_masks(tmp_path / "masks", count=4)
    shutil.rmtree(masks / "masks")
    refuse("mask", masks, str(masks))
