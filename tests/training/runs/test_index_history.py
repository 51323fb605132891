"""The epochs of runs in the index: what the tables hold, how they are migrated, the best epoch of all."""

from __future__ import annotations

import json
import math
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from tests.training.runs.documented_query import documented_query
from tests.training.tiny import tiny
from training.cli import main
from training.engine.runs.run import resume_run, start_run
from training.events import EpochEnded
from training.runs.folder import RunFolder, create_run
from training.runs.index import Index, index_run
from training.runs.index.database import HEAD, connect
from training.runs.index.tables import Base
from training.runs.records.history import EventLog, read_history
from training.runs.records.series import read_steps

OLD = """
CREATE TABLE run_records (id VARCHAR(255) NOT NULL, name VARCHAR(120) NOT NULL, folder VARCHAR NOT NULL,
  status VARCHAR(20) NOT NULL, created FLOAT NOT NULL, step INTEGER NOT NULL, best_value FLOAT, record VARCHAR NOT NULL,
  "check" VARCHAR(80) NOT NULL, PRIMARY KEY (id));
CREATE INDEX ix_run_records_created ON run_records (created);
CREATE INDEX ix_run_records_name ON run_records (name);
CREATE INDEX ix_run_records_status ON run_records (status);
"""
"""The index as 0.1 made it, before there were migrations."""
KEPT = 'SELECT id, name, folder, status, created, step, best_value, record, "check" FROM run_records'


def ask(workspace: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(workspace / "index.sqlite")) as connection:
        return connection.execute(query).fetchall()


def go_back_to_old_index(workspace: Path) -> None:
    """Replace the index by what an earlier version would have made of the same runs."""
    rows = ask(workspace, KEPT)
    (workspace / "index.sqlite").unlink()
    with closing(sqlite3.connect(workspace / "index.sqlite")) as connection:
        connection.executescript(OLD)
        connection.executemany(f"INSERT INTO run_records VALUES ({', '.join('?' * 9)})", rows)
        connection.commit()


def best(workspace: Path, metric: str, capfd: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    capfd.readouterr()
    assert main(["runs", "--best", metric, "--json", "--workspace", str(workspace), *words]) == 0
    told: dict[str, Any] = json.loads(capfd.readouterr().out)
    return told


def test_each_epoch_of_a_run_has_a_row_with_its_metrics(tmp_path: Path) -> None:
    folder = RunFolder(Path(start_run(tiny(), tmp_path).folder))
    ends = read_history(folder.events_file).epochs
    assert ask(tmp_path, "SELECT run, epoch, step, train_loss, val_loss, lr FROM training_history ORDER BY epoch") == [
        (
            folder.id, end.epoch, end.step, end.metrics["train/loss"], end.metrics["val/loss"],
            float(read_steps(folder.series_file, end.step, end.step)["lr"][0]),
        )
        for end in ends
    ]  # fmt: skip
    there = {str(path) for path in folder.checkpoints.iterdir()}
    kept = [path for (path,) in ask(tmp_path, "SELECT checkpoint FROM training_history ORDER BY epoch")]
    assert [str(folder.checkpoints / f"step-{end.step:08d}") in there for end in ends] == [bool(each) for each in kept]
    assert there >= {each for each in kept if each}
    metrics = ask(tmp_path, "SELECT epoch, name, value FROM training_metrics")
    assert sorted(metrics) == sorted((end.epoch, name, value) for end in ends for name, value in end.metrics.items())


def test_an_epoch_done_again_or_added_leaves_one_row_of_each(tmp_path: Path) -> None:
    folder = RunFolder(Path(start_run(tiny(), tmp_path).folder))
    before = ask(tmp_path, "SELECT epoch, val_loss FROM training_history")
    assert resume_run(str(folder.checkpoints / "step-00000016"), tmp_path).status == "completed"
    assert ask(tmp_path, "SELECT epoch, val_loss FROM training_history") == before  # to the bit
    assert len(ask(tmp_path, "SELECT * FROM training_history")) == 3


def test_todays_index_goes_up_and_down_without_loss(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for seed in range(2):
        start_run(tiny("loop.epochs=1", f"seed={seed}"), tmp_path)
    go_back_to_old_index(tmp_path)
    rows = ask(tmp_path, KEPT)
    index = Index(tmp_path)
    assert len(index.runs()) == 2
    assert index.catch_up() == 0
    index.close()
    assert ask(tmp_path, KEPT) == rows
    assert len(ask(tmp_path, "SELECT * FROM training_history")) == 2
    assert main(["index", "--schema", "0001", "--workspace", str(tmp_path)]) == 0
    assert ask(tmp_path, KEPT) == rows
    tables = ask(tmp_path, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    assert tables == [("alembic_version",), ("run_records",)]
    names = ask(tmp_path, "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY name")
    assert names == [("ix_run_records_created",), ("ix_run_records_name",), ("ix_run_records_status",)]
    capfd.readouterr()
    assert main(["index", "--json", "--workspace", str(tmp_path)]) == 0
    told = json.loads(capfd.readouterr().out)
    assert (told["schema"], told["runs"], told["epochs"]) == (HEAD, 2, 2)


@pytest.mark.parametrize("before", ["nothing", "an earlier version's"])
def test_migrated_tables_are_those_that_are_declared(tmp_path: Path, before: str) -> None:
    create_run(tmp_path, tiny())
    Index(tmp_path).runs()
    if before != "nothing":
        go_back_to_old_index(tmp_path)
        Index(tmp_path).runs()
    with connect(f"sqlite:///{tmp_path / 'index.sqlite'}").connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
    assert ask(tmp_path, "SELECT version_num FROM alembic_version") == [(HEAD,)]


def test_a_newer_schema_is_one_sentence_and_left_as_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    run = start_run(tiny("loop.epochs=1"), tmp_path).run
    with closing(sqlite3.connect(tmp_path / "index.sqlite")) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '0999'")
        connection.commit()
    caplog.clear()
    second = start_run(tiny("loop.epochs=1"), tmp_path)
    assert second.status == "completed"
    why = f"its tables are those of a newer Trainwright (schema 0999, this one knows {HEAD}), so update Trainwright"
    assert [each.message for each in caplog.records if each.levelname == "WARNING"] == [
        f"The index of runs cannot be used, the folders are read instead: {why}"
    ]
    assert ask(tmp_path, "SELECT id FROM run_records") == [(run,)]
    assert best(tmp_path, "loss", capfd)["best"]["run"] in (run, second.run)  # by the folders
    assert main(["index", "--schema", HEAD, "--workspace", str(tmp_path)]) == 2
    assert why in capfd.readouterr().err


def test_the_best_epoch_is_told_by_command_and_by_the_documented_query(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folders = [create_run(tmp_path, tiny(f"name={name}")) for name in ("first", "second")]
    values = {0: [0.5, 0.9, math.nan], 1: [0.4, 0.9, 0.1]}
    for number, folder in enumerate(folders):
        log = EventLog(folder.events_file)
        for epoch, value in enumerate(values[number], start=1):
            metrics = {"val/accuracy": value, "val/loss": 1 - value}
            log.emit(EpochEnded(step=8 * epoch, epoch=epoch, metrics=metrics))
        log.close()
    (folders[1].checkpoints / "step-00000016").mkdir()
    told = best(tmp_path, "accuracy", capfd)
    assert told["metric"] == "val/accuracy"
    first, second = ({"epoch": 2, "step": 16, "value": 0.9, "run": folder.id} for folder in folders)
    assert told["best"] == first | {"checkpoint": None}  # of equal values the older run's
    assert told["kept"] == second | {"checkpoint": str(folders[1].checkpoints / "step-00000016")}
    assert [tuple(told["best"].values())] == ask(tmp_path, documented_query())
    assert best(tmp_path, "val/loss", capfd)["best"]["epoch"] == 2  # where less is better
    (folders[1].checkpoints / "step-00000016").rmdir()
    assert best(tmp_path, "accuracy", capfd)["kept"] is None


def test_the_best_epoch_of_runs_on_the_same_data_or_of_a_name(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    others = ("dataset.kind=moons", "name=other")
    for value, overrides in ((0.7, ()), (0.9, others)):
        log = EventLog(create_run(tmp_path, tiny(*overrides)).events_file)
        log.emit(EpochEnded(step=8, epoch=1, metrics={"val/accuracy": value}))
        log.close()
    assert (best(tmp_path, "accuracy", capfd)["best"]["value"], best(tmp_path, "accuracy", capfd)["data"]) == (
        0.9,
        "moons",
    )
    for words in (["--dataset", "spiral"], ["--name", "tiny"], ["--dataset", "spi", "--name", "tiny"]):
        told = best(tmp_path, "accuracy", capfd, *words)
        assert (told["best"]["value"], told["data"]) == (0.7, "spiral")
    assert main(["runs", "--best", "accuracy", "--name", "nobody", "--workspace", str(tmp_path)]) == 2
    assert "no epoch of any run that was chosen" in capfd.readouterr().err
    assert main(["runs", "--dataset", "spiral", "--workspace", str(tmp_path)]) == 2
    assert "belong to --best" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("metric", "why"),
    [("val/wit", "there is no such metric"), ("rmse", "no epoch of any run was measured by val/rmse")],
)
def test_a_metric_that_nothing_was_measured_by_is_said(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], metric: str, why: str
) -> None:
    assert main(["runs", "--best", metric, "--workspace", str(tmp_path)]) == 2
    assert f"--best {metric}: {why}" in capfd.readouterr().err


def test_a_run_that_is_gone_takes_its_epochs_along(tmp_path: Path) -> None:
    folder = RunFolder(Path(start_run(tiny("loop.epochs=1"), tmp_path).folder))
    index = Index(tmp_path)
    index.forget(folder.id)
    for table in ("run_records", "training_history", "training_metrics"):
        assert ask(tmp_path, f"SELECT * FROM {table}") == []
    index_run(folder)
    assert len(ask(tmp_path, "SELECT * FROM training_history")) == 1


def test_where_the_index_is_is_told_without_parameters_which_may_be_a_password(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINWRIGHT_INDEX", f"sqlite:///{tmp_path}/shared.sqlite?timeout=4321")
    assert main(["index", "--workspace", str(tmp_path)]) == 0
    told = capfd.readouterr().out
    assert "shared.sqlite" in told
    assert "4321" not in told


def test_a_database_that_does_not_answer_holds_up_no_end_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TRAINWRIGHT_INDEX", "postgresql://somebody@localhost/runs")
    monkeypatch.setattr("training.runs.index.recorder._LAST_SECONDS_OF_A_SERVER", 0.0)
    answers = threading.Event()
    monkeypatch.setattr(Index, "record_run", lambda *_: answers.wait())
    assert start_run(tiny("loop.epochs=1"), tmp_path).status == "completed"
    assert not answers.is_set()
    assert [each.message for each in caplog.records if each.levelname == "WARNING"] == [
        "The index of runs does not answer; the next look at the list of runs catches up."
    ]
    answers.set()


def test_an_index_that_is_as_it_should_be_loads_no_alembic(tmp_path: Path) -> None:
    create_run(tmp_path, tiny())
    code = (
        "import sys; from pathlib import Path; from training.runs.index import Index\n"
        f"for _ in range(2): index = Index(Path({str(tmp_path)!r})); index.runs(); index.close()\n"
        "print('alembic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
