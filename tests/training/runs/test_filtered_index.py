"""What the index knows of settings, metrics, data and of what is said of runs: filters by SQL find what filters in memory find."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.training.commands import Captured, json_line
from tests.training.runs.test_index_history import ask, go_back_to_old_index
from tests.training.tiny import tiny
from training.cli import main
from training.engine.runs.run import start_run
from training.events import EpochEnded
from training.runs.folder import RunFolder, create_run
from training.runs.index import Index
from training.runs.query import parse
from training.runs.records.about import About, read_about, update_about, write_about
from training.runs.records.history import EventLog

FILTERS = (
    "lr < 1e-3",
    "val/accuracy > 0.6 and not star",
    "best(accuracy) > 0.75 or star",
    'schedule.kind == "COSINE"',
    '"cos" in schedule.kind and batch_size >= 64',
    '"16, 16" in model.hidden',
    "deterministic",
    "deterministic == false and loop.max_steps != 3",
    "not loop.max_steps < 3",
    'tag == "Größe"',
    'tag != "größe"',
    '"paper" in tags or "paper" in notes',
    "wide",
    "tiny größe",
    'name == "WIDE %_\' net"',
    '"%" in name',
    'name < "t"',
    "train/loss < val/loss",
    "val/loss != val/loss",
    "age < 5min and duration < 1s and step = 0 and epoch < 1",
    'archived or status in ("completed", "failed")',
    'notes != "x"',
    'created > "2020-01-01" and dataset == "spiral" and model == "mlp"',
    'schedule.kind > 3 or lr > "a"',
    "1e-5 < lr < 1",
)


def make_runs(workspace: Path) -> list[RunFolder]:
    """Six runs that differ in what was set, measured and said."""
    changes = (
        ("optimizer.lr=1e-4", "loop.batch_size=64"),
        ("schedule.kind=cosine",),
        ("schedule.kind=cosine", "loop.batch_size=128", "loop.max_steps=3"),
        ("deterministic=true",),
        ("model.hidden=[64]", "seed=3"),
        (),
    )
    folders = [create_run(workspace, tiny(*each)) for each in changes]
    for number, folder in enumerate(folders[:-1]):
        log = EventLog(folder.events_file)
        for epoch, value in enumerate((0.9 - number / 10, 0.8 - number / 10), start=1):
            metrics = {"val/accuracy": value, "val/loss": 1 - value, "train/loss": 0.3 if number else float("nan")}
            log.emit(EpochEnded(step=8 * epoch, epoch=epoch, metrics=metrics))
        log.close()
    write_about(folders[0], About("Wide %_' net", True, ("Größe", "paper"), "of the\npaper"))
    write_about(folders[1], About(tags=("größe",)))
    write_about(folders[2], About(archived=True))
    return folders


def read_values(index: Index, keys: frozenset[str]) -> dict[str, dict[str, Any]]:
    """What the window has of each run."""
    columns = index.columns(keys) or {}
    found = {}
    for record in index.runs():
        about = index.abouts()[record.run]
        facts = {
            "name": about.name or record.name, "run": record.run, "status": record.status, "dataset": record.dataset,
            "model": record.model, "tags": about.tags, "notes": about.notes, "star": about.star, "archived": about.archived,
            "step": record.step, "epoch": record.epoch, "created": record.created, "duration": 0.0,
        }  # fmt: skip
        found[record.run] = {key: column.get(record.run) for key, column in columns.items()} | facts
    return found


def compare_filters(workspace: Path) -> None:
    """By the database and in memory."""
    make_runs(workspace)
    with closing(Index(workspace)) as index:
        index.runs()
        assert index.catch_up() == 0
        names, sizes = index.names(), set()
        for text in FILTERS:
            query = parse(text, names)
            wanted = {run for run, values in read_values(index, query.names).items() if query.matches(values)}
            assert index.find(query) == wanted, text
            sizes.add(len(wanted))
    assert sizes == set(range(7))  # so that there was something to get wrong


def test_filters_by_sql_and_in_memory_find_the_same_runs(tmp_path: Path) -> None:
    compare_filters(tmp_path)


def test_runs_are_listed_by_filter_and_by_data_and_archived_ones_when_asked_for(
    tmp_path: Path, capsys: Captured
) -> None:
    record = start_run(tiny("loop.epochs=1"), tmp_path)
    other = start_run(tiny("loop.epochs=1", "dataset.data_seed=1", "name=other"), tmp_path)
    folder = RunFolder(tmp_path / "runs" / record.run)
    update_about(folder, lambda about: replace(about, name="Kept", tags=("paper",), star=True))
    place = ["--workspace", str(tmp_path)]

    def listed(*words: str) -> list[str]:
        capsys.readouterr()
        assert main(["runs", "--json", *words, *place]) == 0
        return [each["run"] for each in json_line(capsys)["runs"]]

    assert listed("--where", 'step = 8 and "paper" in tags') == [record.run]
    assert listed("--where", "data_seed > 0") == [other.run]
    assert main(["show", record.run, "--json", *place]) == 0
    data = json_line(capsys)["environment"]["data"]
    assert listed("--data", data[:10]) == [record.run]
    assert main(["runs", "--best", "val/loss", "--data", data, "--json", *place]) == 0
    assert json_line(capsys)["best"]["run"] == record.run
    assert main(["runs", "--data", "zz", *place]) == 2
    assert "no run is on data of this fingerprint" in capsys.readouterr().err
    assert main(["runs", "--where", "accurcy > 1", *place]) == 2
    assert "at character 1, accurcy: " in capsys.readouterr().err
    assert main(["runs", *place]) == 0
    shown = capsys.readouterr().out
    assert "Kept" in shown
    assert "* paper" in shown
    update_about(folder, lambda about: replace(about, archived=True))
    assert listed() == [other.run]
    assert listed("--all") == [other.run, record.run]
    assert listed("--where", "archived") == [record.run]


def test_a_database_that_is_away_is_made_up_for_by_the_folders(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = make_runs(tmp_path)
    monkeypatch.setenv("TRAINWRIGHT_INDEX", "postgresql://nobody@127.0.0.1:1/none")
    assert main(["runs", "--where", "star and accuracy > 0.7", "--json", "--workspace", str(tmp_path)]) == 0
    assert [each["run"] for each in json_line(capsys)["runs"]] == [folders[0].id]


@pytest.mark.slow
def test_an_index_of_1000_runs_is_migrated_without_loss_and_catches_up(tmp_path: Path) -> None:
    first = make_runs(tmp_path)[0]
    text = first.config_file.read_text()
    for number in range(1000):
        place = tmp_path / "runs" / f"run-{number:04d}"
        place.mkdir()
        (place / "config.toml").write_text(text.replace('name = "tiny"', f'name = "n{number}"'))
        status = first.read_status().model_copy(update={"run": place.name, "name": f"n{number}", "status": "completed"})
        RunFolder(place).write_status(status)
    with closing(Index(tmp_path)) as index:
        index.runs()
    go_back_to_old_index(tmp_path)
    kept = ask(tmp_path, "SELECT id, name, record FROM run_records ORDER BY id")
    with closing(Index(tmp_path)) as index:
        index.runs()
        assert index.catch_up(10) > 900
        assert ask(tmp_path, "SELECT id, name, record FROM run_records ORDER BY id") == kept
        assert index.catch_up() == 0
        assert len(index.find(parse("lr = 1e-4", index.names())) or ()) == 1001
        assert len(set((index.recipes() or {}).values())) == 6  # those of another name are repeats of the first
        assert index.abouts()[first.id] == read_about(first)
    assert ask(tmp_path, "SELECT count(*) FROM run_tags") == [(3,)]
    assert json.loads(ask(tmp_path, f"SELECT record FROM run_records WHERE id = '{first.id}'")[0][0])["name"] == "tiny"
