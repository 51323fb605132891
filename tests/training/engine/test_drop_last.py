"""``loader.drop_last``: the short last batch of an epoch is left out, and all that counts steps knows it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.training.commands import Captured, json_line
from tests.training.engine.test_memory import AUTOMATIC, Card, digests, install, series, settings
from tests.training.tiny import tiny, tiny_images, write_idx
from training.cli import main
from training.core import counter_rng
from training.data import prepare
from training.engine.runs.run import resume_run, start_run
from training.runs.folder import RunFolder
from training.runs.records.manifest import list_checkpoints, read_manifest
from training.runs.records.series import read_series

DROP = "loader.drop_last=true"


@pytest.mark.parametrize("mode", ["resident", "streamed"])
def test_the_short_batch_is_left_out_and_others_wait_in_each_epoch(mode: str) -> None:
    """240 samples to train on, in batches of 32: seven of them, and 16 samples wait."""
    with prepare(tiny(DROP, f"loader.mode={mode}", "loop.accumulation=3"), torch.device("cpu")) as data:
        train, seen = data.splits["train"], []
        for epoch in (0, 1):
            windows = [[batch.indices for batch in window] for window in data.steps(epoch)]
            assert [[len(batch) for batch in window] for window in windows] == [[32] * 3, [32] * 3, [32]]
            seen.append(torch.cat([batch for window in windows for batch in window]))
            order = train[counter_rng.permutation(0, epoch, len(train))]
            assert torch.equal(seen[-1], order[:224])
        assert set(seen[0].tolist()) != set(seen[1].tolist())
        assert data.steps_per_epoch == 3


def test_a_run_counts_its_steps_and_samples(tmp_path: Path) -> None:
    record = start_run(tiny(DROP), tmp_path)
    assert (record.status, record.step) == ("completed", 3 * 7)
    assert read_series(RunFolder(Path(record.folder)).series_file)["epoch"].tolist() == [0] * 7 + [1] * 7 + [2] * 7
    assert read_manifest(Path(str(record.last_checkpoint))).data.training_samples == 240


def test_off_is_as_before_and_without_a_short_batch_it_changes_nothing(tmp_path: Path) -> None:
    whole = [start_run(tiny("dataset.samples=320", *more), tmp_path) for more in ([], [DROP])]  # 256 to train on
    assert digests(whole[0]) == digests(whole[1])
    assert series(whole[0]) == series(whole[1])


def test_a_resumed_run_is_the_unbroken_one(tmp_path: Path) -> None:
    config = tiny_images(write_idx(tmp_path / "data"), DROP)
    whole = start_run(config, tmp_path)
    middle = next(info for info in list_checkpoints(RunFolder(Path(whole.folder))) if info.step == 4)
    again = resume_run(str(middle.path), tmp_path, branch=True)
    assert again.run != whole.run
    assert digests(again) == digests(whole)


def test_memory_that_runs_out_keeps_the_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With batches of 16 none of the 240 samples would be left out: only the run itself keeps its steps then."""
    install(None, monkeypatch)
    whole = start_run(tiny(DROP, "model.dropout=0"), tmp_path)
    install(Card(holds=16, first=9), monkeypatch)
    failed = start_run(tiny(DROP, "model.dropout=0"), tmp_path)
    assert (failed.step, failed.fix) == (9, {"loop.on_out_of_memory": "smaller_batches"})
    done = resume_run(failed.folder, tmp_path, settings(failed))
    assert (done.status, done.run, done.step) == ("completed", failed.run, whole.step)
    ours, theirs = (read_series(RunFolder(Path(record.folder)).series_file)["loss"] for record in (done, whole))
    assert abs(ours - theirs).max() < 1e-4
    install(Card(holds=16), monkeypatch)
    adapted = start_run(tiny(DROP, AUTOMATIC), tmp_path)
    assert (adapted.status, adapted.step) == ("completed", whole.step)


def test_where_no_batch_is_left_the_setting_is_refused_by_name(tmp_path: Path, capsys: Captured) -> None:
    words = ["preset:sample", "--workspace", str(tmp_path), "--set", DROP]
    words += ["--set", "dataset.samples=60", "--set", "loop.batch_size=64"]
    for command in ("run", "check"):
        assert main([command, *words]) == 2
        assert (
            "loader.drop_last: no batch is left, because 48 training samples fill none of 64" in capsys.readouterr().err
        )
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").iterdir())


@pytest.mark.parametrize("ahead", [1, 9])
@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_how_far_is_read_ahead_changes_no_bit(tmp_path: Path, ahead: int, workers: int) -> None:
    data = write_idx(tmp_path / "data", samples=100)
    runs = [
        start_run(tiny_images(data, "loop.epochs=2", *read), tmp_path)
        for read in (
            ["loader.mode=resident"],
            ["loader.mode=streamed", f"loader.workers={workers}", f"loader.prefetch_factor={ahead}"],
        )
    ]
    assert digests(runs[0]) == digests(runs[1])


@pytest.mark.slow
def test_what_is_read_ahead_counts_as_memory(tmp_path: Path, capsys: Captured) -> None:
    told = []
    for ahead in (1, 500):
        words = [
            "--set",
            "dataset.samples=120",
            "--set",
            "loop.batch_size=8",
            "--set",
            "loader.mode=streamed",
            "--set",
            f"loader.prefetch_factor={ahead}",
            "--workspace",
            str(tmp_path),
        ]
        assert main(["check", "preset:sample", *words, "--json"]) == 0
        memory = next(each["title"] for each in json_line(capsys)["findings"] if each["title"].startswith("Memory:"))
        told.append(memory[memory.index("up to") :].split(" of batches")[0])
    assert told[0] != told[1]
