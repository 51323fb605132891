"""Rows that a model is asked about: what lies outside of the training rows is told, and a large table is read once."""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl
import pytest
from safetensors.torch import load_file

from tests.training.asking import asked
from tests.training.catalog.task_samples import small
from tests.training.commands import Captured, json_line
from training.cli import main
from training.config import parse_config
from training.config.sections.data.tables import TableSection
from training.config.sections.data.toys import BlobsDataset
from training.core.readers.toys import make_blobs
from training.data.tables import table_file
from training.engine.runs.run import start_run
from training.export import export_checkpoint
from training.facts import TableForm
from training.protocol.messages import Done, Progress, Refusal, Reply
from training.protocol.model_answers import ModelAnswers, ModelDescription, SavedAnswers
from training.protocol.model_questions import AskFiles, AskRow, DescribeModel, SaveAnswers
from training.runs.folder import RunFolder
from training.serve import Server


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trained on a table of 40 rows: weights from 46 to 5,140, lengths from 0.1 to 3.9, days of 2024, three colors."""
    folder = tmp_path_factory.mktemp("rows")
    day, color = ("2024-01-05", "2024-12-05"), ("red", "blue", "gray")
    lines = [f"{(46, 5140)[i % 2]},{(0.1, 3.9)[i % 2]},{day[i % 2]},{color[i % 3]},{i}" for i in range(40)]
    (folder / "table.csv").write_text("\n".join(["weight,length,day,color,price", *lines]))
    run = small("regression", folder / "data").model_dump(mode="json")
    given = {"kind": "table", "path": str(folder / "table.csv"), "targets": ["price"]}
    run |= {"dataset": given, "model": {"kind": "tabular"}}
    record = start_run(parse_config(run), folder)
    return Path(str(record.last_checkpoint))


def test_what_lies_outside_of_the_training_rows_is_told_by_row(
    checkpoint: Path, capsys: Captured, tmp_path: Path
) -> None:
    new = tmp_path / "new.csv"
    new.write_text(
        "weight,length,day,color\n5140,0.1,2024-03-05,red\n9999,3.9,2024-12-05,blue\n"
        "45.5,3.95,2031-01-01,green\n,,,\n100,1,2024-05-05,gray\n"
    )
    export = tmp_path / "export"
    export_checkpoint(checkpoint, "safetensors", export)
    for model in (checkpoint, export):
        assert main(["predict", str(model), str(new)]) == 0
        assert capsys.readouterr().err.splitlines() == [
            "new.csv row 2: weight 9,999 lies outside what was trained on (46 to 5,140).",
            "new.csv row 3: weight 45.5 lies outside what was trained on (46 to 5,140).",
            "new.csv row 3: length 3.95 lies outside what was trained on (0.1 to 3.9).",
            "new.csv row 3: '2031-01-01' in day lies after the training rows, which are from 2024-01-05 to 2024-12-05.",
            "new.csv row 3: 'green' in color was not in the training data and counts as unknown.",
        ]
    row = {"weight": "9999", "length": "1", "day": "", "color": ""}
    (answer,) = ModelAnswers.model_validate(asked(AskRow(model=checkpoint, row=row))).answers
    assert answer.notes == ("weight 9,999 lies outside what was trained on (46 to 5,140)",)


def test_points_have_the_range_of_the_training_samples(capsys: Captured, tmp_path: Path) -> None:
    config = small("classification", tmp_path / "data")
    record = start_run(config, tmp_path)
    checkpoint = Path(str(record.last_checkpoint))
    train = load_file(RunFolder(Path(record.folder)).splits_file)["train"]
    given = config.dataset
    assert isinstance(given, BlobsDataset)
    points = make_blobs(
        train, classes=given.classes, features=given.features, spread=given.spread, seed=given.data_seed
    )
    least, most = points.min(0).values.tolist(), points.max(0).values.tolist()
    columns = ModelDescription.model_validate(asked(DescribeModel(model=checkpoint))).columns
    assert [(each.name, each.low, each.high) for each in columns] == list(zip("xy", least, most, strict=True))
    rows = tmp_path / "rows.csv"
    rows.write_text(f"x,y\n{least[0]},{most[1]}\n{least[0] - 1},{most[1]}\n")
    assert main(["predict", str(checkpoint), str(rows), "--json"]) == 0
    inside, outside = json_line(capsys)["answers"]
    assert "notes" not in inside
    (note,) = outside["notes"]
    assert note.startswith("x -")
    assert "lies outside what was trained on (-" in note


def test_a_table_is_read_once_for_all_its_pages(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "many.csv"
    table.write_text("weight,length,day,color\n" + "".join(f"{100 + i},1,2024-05-05,red\n" for i in range(3000)))
    read: list[Path] = []
    original = table_file.read_new_table

    def read_table(path: Path, dataset: TableSection, form: TableForm | None) -> pl.DataFrame:
        read.append(path)
        return original(path, dataset, form)

    monkeypatch.setattr("training.answering.rows.read_new_table", read_table)
    replies: list[Reply] = []
    server = Server(replies.append)

    def page(offset: int) -> ModelAnswers:
        replies.clear()
        server.answer(AskFiles(model=checkpoint, files=(tmp_path / "none.csv", table), offset=offset))
        assert isinstance(replies[-1], Done), replies[-1]
        return ModelAnswers.model_validate(replies[-1].result)

    first, last, beyond = page(0), page(2990), page(9000)
    assert first.answers[0].refused.startswith("cannot be read")
    assert (first.answers[1].name, first.left_out) == ("many.csv row 1", 2977)
    assert [answer.name for answer in last.answers] == [f"many.csv row {number:,}" for number in range(2990, 3001)]
    assert (last.left_out, beyond.answers, beyond.left_out) == (0, (), 0)
    assert read == [tmp_path / "none.csv", table]
    table.write_text("weight,length,day,color\n1,1,2024-05-05,red\n")
    assert len(page(0).answers) == 2  # another file by now


def test_all_answers_are_saved_or_none_where_that_is_canceled(checkpoint: Path, tmp_path: Path) -> None:
    table, out = tmp_path / "many.csv", tmp_path / "out.csv"
    table.write_text(
        "weight,length,day,color\n" + "".join(f"{100 + i},1,2024-05-05,red\n" for i in range(1500)) + ",,,\n"
    )
    saved = SavedAnswers.model_validate(asked(SaveAnswers(model=checkpoint, files=(table,), out=out)))
    assert (saved.answered, saved.samples) == (1501, 1501)
    with out.open() as file:
        told = list(csv.DictReader(file))
    (answer,) = ModelAnswers.model_validate(
        asked(AskRow(model=checkpoint, row={"weight": "100", "length": "1", "day": "2024-05-05", "color": "red"}))
    ).answers
    assert len(told) == 1501
    assert float(told[0]["price"]) == pytest.approx(answer.values[0].value, rel=1e-5)
    out.unlink()

    replies: list[Reply] = []

    def cancel(reply: Reply) -> None:
        replies.append(reply)
        if isinstance(reply, Progress):
            server.interrupt(7)

    server = Server(cancel)
    server.answer(SaveAnswers(id=7, model=checkpoint, files=(table,), out=out))
    assert [type(reply) for reply in replies] == [Progress, Refusal]
    assert not out.exists()
    server.answer(SaveAnswers(id=8, model=checkpoint, files=(tmp_path / "none.csv",), out=out))
    assert isinstance(replies[-1], Refusal)
    assert "Not one of 1 sample could be answered" in replies[-1].message
    server.answer(SaveAnswers(id=9, model=checkpoint, files=(table,), out=tmp_path / "out.xlsx"))
    assert isinstance(replies[-1], Refusal)
    assert "must end in .csv, .parquet or .json" in replies[-1].message
