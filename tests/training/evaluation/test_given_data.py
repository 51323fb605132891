"""Data given as a path: the same samples give the same numbers, and others are refused by name before anything runs."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.training.evaluation.tasks import (
    make_config,
    write_data,
    write_images,
    write_masks,
    write_ranked,
    write_table,
    write_text,
)
from training.cli import main
from training.data.browse import Browser
from training.engine.runs.run import resume_run, start_run
from training.errors import CheckpointError
from training.evaluation import evaluate_checkpoint
from training.predictions import read
from training.protocol.messages import ReadSamples
from training.runs.folder import RunFolder
from training.runs.records.manifest import list_checkpoints

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def runs(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunFolder]:
    workspace = tmp_path_factory.mktemp("workspace")
    tasks = ("images", "table class", "tasks", "mask", "tokens", "idx", "npz", "image table", "ranked table")
    return {task: RunFolder(Path(start_run(make_config(task, data), workspace).folder)) for task in tasks}


@pytest.mark.parametrize(
    ("task", "place"),
    [
        ("images", "images"),
        ("table class", "table.csv"),
        ("tasks", "table.csv"),
        pytest.param("mask", "masks", marks=pytest.mark.slow),
        pytest.param("tokens", "text.txt", marks=pytest.mark.slow),
        pytest.param("idx", "idx", marks=pytest.mark.slow),
        pytest.param("npz", "rows.npz", marks=pytest.mark.slow),
        pytest.param("image table", "images.csv", marks=pytest.mark.slow),
        pytest.param("ranked table", "ranked.csv", marks=pytest.mark.slow),
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
        simple = [found.record.metrics[name].baseline for name in ("perplexity", "loss")]
        assert [each.name for each in simple if each is not None] == ["bigram", "bigram"]
        assert all(each is not None and 0.1 < each.value < len(found.record.names) for each in simple)
        return
    if (
        task == "tasks"
    ):  # the majority of the training part, whatever is evaluated: of the rarest class alone it is never right
        kinds = Counter(line.split(",")[3] for line in (data / place).read_text().splitlines()[1:])
        rare = data / "rare.csv"
        rows = (data / place).read_text().splitlines()
        rare.write_text(
            "\n".join([rows[0], *(row for row in rows if row.split(",")[3] == min(kinds, key=kinds.__getitem__))])
        )
        baseline = (
            evaluate_checkpoint(list_checkpoints(run)[0].path, str(rare)).record.metrics["kind/accuracy"].baseline
        )
        assert baseline is not None
        assert baseline.value == 0.0
    here = {name: place for place, name in enumerate(found.names)}
    places = [here[name] for name in own.names]
    for name in own.record.columns.keys() - {"index"}:
        np.testing.assert_allclose(found.column(name)[places], own.column(name), rtol=1e-4, atol=1e-5)
    made = (found.folder / "evaluation.json").stat().st_mtime_ns
    assert main(["evaluate", str(run.path), "--on", str(data / place)]) == 0
    assert (found.folder / "evaluation.json").stat().st_mtime_ns == made


def test_a_given_table_is_compared_with_the_regression_of_the_training_part(
    runs: dict[str, RunFolder], tmp_path: Path
) -> None:
    run = runs["table class"]
    checkpoint = list_checkpoints(run)[0].path
    own = evaluate_checkpoint(checkpoint)
    assert own.rows is not None
    own.rows.write_csv(tmp_path / "validation.csv")
    given = evaluate_checkpoint(checkpoint, str(tmp_path / "validation.csv"))
    linear = [each.record.metrics["accuracy"].linear for each in (own, given)]
    assert linear[0] == linear[1] is not None


def test_a_column_that_an_earlier_version_trained_on_is_kept_by_an_evaluation_and_named_by_a_resume(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pl.read_csv(data / "table.csv")
    order = pl.Series("order", np.random.default_rng(0).choice(2 * len(table), len(table), replace=False))
    table.with_columns(order).write_csv(tmp_path / "table.csv")
    with monkeypatch.context() as earlier:
        earlier.setattr("training.data.tables.left_out._names_rows", lambda column: "")
        config = make_config("table class", tmp_path, dataset={"features": []})
        run = RunFolder(Path(start_run(config, tmp_path).folder))
    assert evaluate_checkpoint(list_checkpoints(run)[0].path).record.samples
    with pytest.raises(CheckpointError, match="was trained with 'order' among the features") as refused:
        resume_run(str(run.path), tmp_path)
    assert """--set 'dataset.keep_columns=["order"]'""" in (refused.value.advice or "")


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
    blue = [number for number, line in enumerate(table.read_text().splitlines()[1:], 1) if ",blue," in line]
    said = f"'blue' in color was not in the training data and counts as unknown ({len(blue)} rows: "
    first = ", ".join(map(str, blue[:5]))
    assert any(f"{said}{first} and {len(blue) - 5} more)." in note for note in notes)
    text = write_text(tmp_path / "other.txt")
    text.write_text(text.read_text().replace(" + 7 ", " ⊕ é ").replace("\n", "~\n", 3), encoding="utf-8")
    assert main(["evaluate", str(runs["tokens"].path), "--on", str(text), "--json"]) == 0
    count = text.read_text(encoding="utf-8").count("⊕") * 2 + 3
    line = next(number for number, each in enumerate(text.read_text(encoding="utf-8").splitlines(), 1) if "⊕" in each)
    said = f"{count} characters of the text are not in the vocabulary and count as unknown: '~' (first in line 1), "
    said += f"'⊕' (first in line {line}), 'é' (first in line {line})."
    assert json.loads(capsys.readouterr().out)["notes"][0] == said
    ranked = write_ranked(tmp_path / "ranked.csv", queries=4, seed=1)
    ranked.write_text(ranked.read_text() + "alone,0.5,red,1\nq00,0.1,blue,\nq00,0.2,blue,3\n")
    assert main(["evaluate", str(runs["ranked table"].path), "--on", str(ranked), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {"1 row without a target left out.", "1 query of a single row left out."} <= set(told["notes"])
    row = len(ranked.read_text().splitlines()) - 1  # the other blue one has no rank
    said = f"'blue' in color was not in the training data and counts as unknown (row {row})."
    assert any(said in note for note in told["notes"])
    assert read(Path(told["folder"])).record.samples == 4


def test_other_data_is_refused_by_name(runs: dict[str, RunFolder], tmp_path: Path, capsys: Captured) -> None:
    def refuse(task: str, place: Path, sentence: str) -> None:
        assert main(["evaluate", str(runs[task].path), "--on", str(place)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"--on {place}: ")
        assert sentence in line

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
    ranked = write_ranked(tmp_path / "ranked.csv")
    for name, why in (("query", "which tells the queries apart"), ("rank", "which the network predicts")):
        (tmp_path / f"no-{name}.csv").write_text(ranked.read_text().replace(name, "other", 1))
        refuse("ranked table", tmp_path / f"no-{name}.csv", f"has no column '{name}', {why}; it has ")
    (tmp_path / "no-size.csv").write_text(ranked.read_text().replace("size", "other", 1))
    refuse("ranked table", tmp_path / "no-size.csv", "has no column 'size'")
    (tmp_path / "nobody.csv").write_text(ranked.read_text() + ",0.5,red,1\n")
    refuse("ranked table", tmp_path / "nobody.csv", "has nothing in column 'query'; name its query")
    refuse("tokens", write_text(tmp_path / "short.txt", lines=1), "has 10 tokens, but the network reads windows of 16")
    refuse("images", tmp_path / "nothing", "there is no such file or folder")
    masks = write_masks(tmp_path / "masks", count=4)
    shutil.rmtree(masks / "masks")
    refuse("mask", masks, "holds no images and masks that could be told apart")
    refuse("table class", masks, "cannot be read (Is a directory)")
    refuse("images", table, "is a file, but the run's images lie in a folder")
