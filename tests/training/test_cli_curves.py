"""``show --csv``: the numbers of the run's own files, as text that is read back as the same numbers."""

from __future__ import annotations

import csv
import io
import math
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.training.commands import Captured, json_line, stopped_run
from training.cli import main
from training.runs.folder import RunFolder
from training.runs.records.history import read_history
from training.runs.records.series import read_series
from training.runs.workspace import default_workspace, find_run


def read_table(capsys: Captured) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


def test_each_step_is_a_row_also_of_a_run_that_was_resumed(
    config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stopped_run(config, capsys, monkeypatch)
    folder = RunFolder(Path(run["folder"]))
    assert main(["show", run["run"], "--csv"]) == 0
    assert len(read_table(capsys)) == 8
    assert main(["resume", run["run"], "--json"]) == 0
    capsys.readouterr()
    assert main(["show", run["run"], "--csv"]) == 0
    table, rows = read_table(capsys), read_series(folder.series_file)
    assert list(table[0]) == ["step", "epoch", "lr", "loss", "grad_norm", "samples", "seconds"]
    assert [int(row["step"]) for row in table] == list(range(1, 25))
    assert [int(row["epoch"]) for row in table] == [1] * 8 + [2] * 8 + [3] * 8
    for name in ("lr", "loss", "grad_norm"):
        assert [float(row[name]) for row in table] == rows[name].astype(float).tolist()
    history = read_history(folder.events_file)
    assert history.data is not None
    counts = [int(row["samples"]) for row in table]
    assert sum(counts[:8]) == sum(counts[16:]) == history.data.report.samples["train"]
    assert len(set(counts[:7])) == 1 > 0 < counts[7] <= counts[0]
    seconds = [float(row["seconds"]) for row in table]
    assert min(seconds) > 0
    rate = sum(counts[8:]) / sum(seconds[8:])  # what the second attempt said of itself
    assert rate == pytest.approx(folder.status().samples_per_second, rel=1e-3)


def test_each_epoch_is_a_row_with_its_validation(config: Path, capsys: Captured) -> None:
    assert main(["run", str(config), "--json"]) == 0
    run = json_line(capsys)
    folder = RunFolder(Path(run["folder"]))
    assert main(["show", run["run"], "--csv", "--epochs"]) == 0
    table, rows = read_table(capsys), read_series(folder.series_file)
    assert list(table[0])[:4] == ["epoch", "step", "train_loss", "val/loss"]
    assert list(table[0])[-1] == "lr"
    for row, end in zip(table, read_history(folder.events_file).epochs, strict=True):
        assert (int(row["epoch"]), int(row["step"])) == (end.epoch, end.step)
        assert float(row["train_loss"]) == end.metrics["train/loss"]
        assert float(row["val/accuracy"]) == end.metrics["val/accuracy"]
        assert float(row["lr"]) == rows["lr"][end.step - 1]


def test_what_is_damaged_or_lost_is_left_empty_or_told(config: Path, capsys: Captured) -> None:
    assert main(["run", str(config), "--json"]) == 0
    run = json_line(capsys)
    folder = RunFolder(Path(run["folder"]))
    whole = folder.series_file.read_bytes()
    folder.series_file.write_bytes(whole[:-5])  # a torn row
    folder.telemetry_file.unlink()
    assert main(["show", run["run"], "--csv"]) == 0
    table = read_table(capsys)
    assert (len(table), {row["seconds"] for row in table}, table[0]["samples"] != "") == (23, {""}, True)
    folder.config_file.write_text("no settings")
    assert main(["show", run["run"], "--csv"]) == 0
    assert {row["samples"] for row in read_table(capsys)} == {""}
    folder.series_file.write_bytes(b"x" * 999)
    assert main(["show", run["run"], "--csv"]) == 2
    assert "is not a series of this program" in capsys.readouterr().err
    folder.series_file.unlink()
    shutil.rmtree(folder.checkpoints)
    assert main(["show", run["run"], "--csv"]) == 0
    assert capsys.readouterr().out == "step,epoch,lr,loss,grad_norm,samples,seconds\n"


def test_numbers_that_are_not_finite_are_rows_too(config: Path, capsys: Captured) -> None:
    wild = ("optimizer.kind=sgd", "optimizer.lr=100.0", "schedule.kind=constant", "loop.clip_norm=none")
    options = [item for setting in (*wild, "loop.max_skipped_steps=3") for item in ("--set", setting)]
    assert main(["run", str(config), *options, "--json"]) == 1
    run = json_line(capsys)
    assert main(["show", run["run"], "--csv"]) == 0
    norms = [float(row["grad_norm"]) for row in read_table(capsys)]
    assert not all(math.isfinite(norm) for norm in norms)
    rows = read_series(RunFolder(Path(run["folder"])).series_file)
    assert np.array_equal(norms, rows["grad_norm"], equal_nan=True)


def test_the_two_tables_are_asked_for_in_words_that_fit(config: Path, capsys: Captured) -> None:
    assert main(["show", "x", "--epochs"]) == 2
    assert "--epochs belongs to --csv" in capsys.readouterr().err
    assert main(["show", "x", "--csv", "--json"]) == 2
    assert "--csv and --json" in capsys.readouterr().err
    assert main(["show", "x", "--parquet", "y.parquet", "--json"]) == 2
    assert "--parquet and --json" in capsys.readouterr().err


def test_parquet_holds_the_numbers_of_the_csv(config: Path, capsys: Captured, tmp_path: Path) -> None:
    assert main(["run", str(config), "--json"]) == 0
    run = json_line(capsys)["run"]
    folder = find_run(run, default_workspace())
    for options in ([], ["--epochs"]):
        file = tmp_path / f"curves{len(options)}.parquet"
        assert main(["show", run, "--csv", *options, "--parquet", str(file)]) == 0
        rows = list(csv.reader(io.StringIO(capsys.readouterr().out)))
        frame = pl.read_parquet(file)
        assert frame.columns == rows[0]
        assert [["" if value is None else repr(value) for value in row] for row in frame.rows()] == rows[1:]
    assert len(frame) == 3
    folder.telemetry_file.unlink()
    folder.series_file.unlink()
    assert main(["show", run, "--parquet", str(file)]) == 0
    assert pl.read_parquet(file).shape == (0, 7)


def test_a_parquet_file_that_cannot_be_written_is_told(config: Path, capsys: Captured, tmp_path: Path) -> None:
    assert main(["run", str(config), "--json"]) == 0
    run = json_line(capsys)["run"]
    for place, words in (("a.csv", "has to end in .parquet"), ("no/a.parquet", "cannot be written")):
        assert main(["show", run, "--parquet", str(tmp_path / place)]) == 2
        assert words in capsys.readouterr().err
