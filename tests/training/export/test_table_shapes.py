"""The same answer for the same row, however its table is written: from the run, its script and its exports."""

from __future__ import annotations

import json
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest
import torch

from tests.training.catalog.task_samples import small
from tests.training.commands import Captured
from tests.training.export.apart import check_reading_apart
from tests.training.export.conftest import Train
from tests.training.export.table_shapes import SHAPES, write_shape
from tests.training.export.test_script import assert_same_run, export, train_by_script
from training.answering.describe import describe_model
from training.answering.model import open_model
from training.answering.rows import open_table
from training.cli import main
from training.config import RunConfig, parse_config
from training.config.sections.data.tables import TableDataset
from training.data.tables.remarks import list_remarks
from training.export import export_checkpoint
from training.export.bundle import load_bundle


def configure(name: str, path: Path) -> RunConfig:
    """Two steps on the table of that shape."""
    shape = SHAPES[name]
    task = {"mpg": "regression", "fare": "regression"}.get(shape.target, "classification")
    return parse_config(
        {
            "name": "shape",
            "dataset": {"kind": "table", "path": str(path), "targets": [shape.target], **shape.settings},
            "model": {"kind": "tabular", "hidden": [8]},
            "objective": {"kind": "multi_task" if shape.settings.get("task") == "tasks" else task},
            "schedule": {"kind": "constant"},
            "loop": {"max_steps": 2, "batch_size": 16},
            "precision": {"device": "cpu"},
        }
    )


def predict(model: Path, table: Path, capsys: Captured) -> list[Any]:
    """What the command says of each row: of each class its name and probability, and each value."""
    capsys.readouterr()
    assert main(["predict", str(model), str(table), "--json"]) == 0
    said = []
    for answer in json.loads(capsys.readouterr().out)["answers"]:
        chances = [each[1] for each in answer.get("chances_of", [])] + [answer.get("chances", [])]
        likeliest = [max(some, key=lambda each: each["probability"]) for some in chances if some]
        said += [part for each in likeliest for part in (each["name"], each["probability"])]
        said += [each["value"] for each in answer.get("values", [])]
    return said


def flatten(answers: list[Any]) -> list[Any]:
    """The same of the answers of ``model.py``."""
    parts = [part for answer in answers for part in (answer.values() if isinstance(answer, dict) else [answer])]
    return [each for part in parts for each in (part if isinstance(part, tuple) else (part,))]


def split(said: list[Any]) -> tuple[list[str], list[float]]:
    """Its names and its numbers."""
    return [each for each in said if isinstance(each, str)], [each for each in said if not isinstance(each, str)]


GRAPHS = ("titanic", "german", "several targets")
"""What is made into a graph too: whose rows are read by the same functions, and that takes seconds."""


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_a_row_is_answered_alike_everywhere(name: str, train: Train, tmp_path: Path, capsys: Captured) -> None:
    shape = SHAPES[name]
    path, rows = write_shape(name, tmp_path)
    checkpoint = train(configure(name, path))
    bundle = load_bundle(checkpoint)
    marked = tuple(f"{each} missing" for each in shape.features if f"{each} missing" in bundle.facts.columns)
    assert bundle.facts.columns == shape.features + marked
    check_reading_apart(bundle, tmp_path / "apart")
    script = export(checkpoint, tmp_path / "train.py")  # which compares what both read, to the bit
    train_by_script(script, tmp_path / "script")
    assert_same_run(checkpoint, tmp_path / "script")

    for to in ("safetensors", "onnx") if name in GRAPHS else ("safetensors",):
        export_checkpoint(checkpoint, to, tmp_path / to)
        code = run_path(str(tmp_path / to / "model.py"))
        if to == "onnx":  # what reads for a graph lies beside it
            code |= {"read_rows": run_path(str(tmp_path / to / "preprocess.py"))["read_rows"]}
        model, facts = code["load_model"]()
        samples = code["read_rows"](facts, rows)
        answers = code["predict"](model, facts, samples)
        names, numbers = split(flatten(answers))
        for asked in (checkpoint, tmp_path / to):
            told, measured = split(predict(asked, path, capsys))
            assert told == names
            assert measured == pytest.approx(numbers, rel=1e-4)
        found = torch.as_tensor(code["logits"](model, facts, samples))
        torch.testing.assert_close(found, bundle.logits(torch.from_numpy(samples)), rtol=1e-4, atol=1e-5)
    read = run_path(str(script))["read_data"](path)[0]
    np.testing.assert_array_equal(samples, read.numpy())
    assert len(answers) == len(rows)
    assert isinstance(bundle.config.dataset, TableDataset)
    remarks = list_remarks(rows, bundle.facts, bundle.config.dataset.missing_marks)
    expected = (
        "was not in the training data and counts as unknown",
        "lies outside what was trained on",
    )  # of held-out rows
    assert all(any(words in remark.text for words in expected) for remark in remarks)


def test_queries_and_texts_are_read_where_there_is_neither_torch_nor_trainwright(train: Train, tmp_path: Path) -> None:
    kinds, lines = ("red", "dark blue", ""), ["query,size,color,when,grade"]
    lines += [f"q{n // 4},{n % 7 / 2 if n % 5 else ''},{kinds[n % 3]},2024-0{1 + n % 9}-11,{n % 3}" for n in range(160)]
    (tmp_path / "queries.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    table = ("dataset.kind=ranking", f"dataset.path={tmp_path / 'queries.csv'}", "dataset.targets=grade")
    of_queries = small("ranking", tmp_path / "made", *table, "model.kind=tabular", "loop.max_steps=1")
    of_text = small("language_model", tmp_path / "text", "dataset.vocabulary=bpe", "loop.max_steps=1")
    for config in (of_queries, of_text):
        check_reading_apart(load_bundle(train(config)), tmp_path / config.objective.kind)


def test_new_rows_are_read_as_those_before_them_and_told_by_row(train: Train, tmp_path: Path, capsys: Captured) -> None:
    path, _ = write_shape("german", tmp_path)
    checkpoint = train(configure("german", path))
    new = tmp_path / "new.csv"
    new.write_text("Maß;Datum;Preis €;Größe\nærø;04.03.2023;1.234;\nellen;31.12.2031;90;1\n", encoding="utf-8")
    first, second = open_table(open_model(checkpoint), new).read_all()
    assert first.values is not None
    assert second.values is not None
    columns = load_bundle(checkpoint).facts.columns
    read = dict(zip(columns, first.values.tolist(), strict=True))
    assert read["Preis €"] == 1234.0  # no cell tells, so as in the training table
    assert (read["Datum.year"], read["Datum.month"], read["Datum.weekday"]) == (2023.0, 3.0, 6.0)
    (cheap,) = first.notes
    assert cheap.startswith("Preis € 1,234 lies outside what was trained on (1,606")
    _cheap, late, unseen = second.notes
    assert late.startswith("'31.12.2031' in Datum lies after the training rows, which are from 2023-03-0")
    assert unseen == "'ellen' in Maß was not in the training data and counts as unknown"
    capsys.readouterr()
    assert main(["predict", str(checkpoint), str(new)]) == 0
    assert f"new.csv row 2: {late}" in capsys.readouterr().err
    new.write_text("Maß;Preis €;Größe\nærø;1.234;\n", encoding="utf-8")
    assert main(["predict", str(checkpoint), str(new)]) == 2
    assert "new.csv row 1: has no column 'Datum'." in capsys.readouterr().err
    (dated,) = [each for each in describe_model(open_model(checkpoint)).columns if each.name == "Datum"]
    assert (dated.holds, dated.first[6:], dated.last[3:]) == ("date", "2023", "01.2025")
