"""Whole runs through the engine's API: the books that they keep, what they obey, and how they end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.training.engine.handing_over import weights
from tests.training.engine.stopping import stopping_after
from tests.training.tiny import tiny
from training.control import Command, send
from training.engine.runs.run import Hooks, resume_run, start_run
from training.errors import InputError
from training.events import Completed, Event, Finding, Validated
from training.runs.folder import RunFolder
from training.runs.records.history import read_history
from training.runs.records.manifest import CheckpointInfo, list_checkpoints
from training.runs.records.series import read_series


def test_a_run_completes_and_keeps_its_books(tmp_path: Path) -> None:
    record = start_run(tiny(), tmp_path)
    folder = RunFolder(Path(record.folder))
    series, history = read_series(folder.series_file), read_history(folder.events_file)
    assert record.status == "completed"
    assert record.step == 24
    assert series["step"].tolist() == list(range(1, 25))
    assert series["epoch"].tolist() == [0] * 8 + [1] * 8 + [2] * 8
    assert np.isfinite(series["loss"]).all()
    assert (series["grad_norm"] > 0).all()
    assert [item.step for item in history.validations] == [8, 16, 24]
    assert [item.step for item in history.epochs] == [8, 16, 24]
    assert isinstance(history.final, Completed)
    assert record.metrics["val/accuracy"] == history.validations[-1].metrics["val/accuracy"]
    best = max(item.metrics["val/accuracy"] for item in history.validations)
    assert record.best is not None
    assert record.best.value == best
    assert record.best is not None
    assert Path(str(record.best.checkpoint)).is_dir()
    assert folder.status().status == "completed"


def test_train_loss_of_an_epoch_is_the_mean_over_samples(tmp_path: Path) -> None:
    record = start_run(tiny("loop.epochs=1", "dataset.samples=99"), tmp_path)
    series = read_series(RunFolder(Path(record.folder)).series_file)
    samples = np.array([32, 32, 15])  # 99 less a fifth held out
    expected = float((series["loss"].astype(np.float64) * samples).sum() / samples.sum())
    assert record.metrics["train/loss"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("stop", [0, 8, 9], ids=["unbroken", "resumed at an epoch's end", "resumed within one"])
@pytest.mark.parametrize("settings", [(), ("loop.early_stopping_patience=1", "checkpoints.monitor=val/loss")])
def test_an_epoch_is_told_with_the_metrics_of_its_own_validation(
    tmp_path: Path, stop: int, settings: tuple[str, ...]
) -> None:
    config = tiny("loop.epochs=4", "loop.validate_every_steps=3", *settings)
    record = start_run(config, tmp_path, stopping_after(stop) if stop else Hooks())
    folder = RunFolder(Path(record.folder))
    if stop:
        record = resume_run(record.folder, tmp_path)
    history = read_history(folder.events_file)
    validated = {event.step: event.metrics for event in history.validations}
    assert [event.epoch for event in history.epochs] == [*range(1, record.step // 8 + 1)]
    assert len(history.epochs) == 4 or settings
    for event in history.epochs:
        assert event.step == 8 * event.epoch
        assert event.metrics == {**validated[event.step], "train/loss": event.metrics["train/loss"]}
    assert len({event.metrics["train/loss"] for event in history.epochs}) == len(history.epochs)


def test_a_checkpoint_says_at_which_step_its_metrics_were_measured(tmp_path: Path) -> None:
    stopped = start_run(tiny("checkpoints.every_steps=3", "checkpoints.keep_last=99"), tmp_path, stopping_after(9))
    resume_run(stopped.folder, tmp_path)
    kept = list_checkpoints(RunFolder(Path(stopped.folder)))
    assert {info.step for info in kept if info.validated} <= {8, 16, 24}
    assert {info.metrics_step for info in kept} == {0, 8, 16, 24}
    assert all(info.metrics_step == info.step // 8 * 8 for info in kept)


def test_input_that_cannot_be_used_leaves_no_run_behind(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    config = tiny("dataset.kind=image_folder", f"dataset.path={tmp_path / 'empty'}", "model.kind=small_cnn")
    with pytest.raises(InputError):
        start_run(config, tmp_path / "workspace")
    assert list((tmp_path / "workspace" / "runs").iterdir()) == []


def test_early_stopping_ends_the_run_and_says_why(tmp_path: Path) -> None:
    config = tiny("loop.epochs=50", "loop.early_stopping_patience=2", "loop.early_stopping_min_delta=1.0")
    record = start_run(config, tmp_path)
    assert record.status == "completed"
    assert record.epoch == 3  # the first validation is the best; two more without a gain of 1.0
    assert "early stopping" in str(record.reason)


def test_step_limit_ends_inside_an_epoch(tmp_path: Path) -> None:
    record = start_run(tiny("loop.max_steps=11"), tmp_path)
    assert (record.step, record.status, record.total_steps) == (11, "completed", 11)
    assert {"val/accuracy", "train/loss"} <= set(record.metrics)


def test_a_stop_while_the_data_is_prepared_is_obeyed_and_the_run_can_be_resumed(tmp_path: Path) -> None:
    hooks = Hooks()

    def watch(event: Event) -> None:
        if getattr(event, "phase", "") == "preparing data":
            hooks.control.request_stop()

    hooks.watch = watch
    stopped = start_run(tiny(), tmp_path, hooks)
    assert (stopped.status, stopped.step) == ("stopped", 0)
    resumed = resume_run(stopped.folder, tmp_path)
    assert weights(resumed) == weights(start_run(tiny(), tmp_path))


def test_many_small_gains_count_once_they_add_up(tmp_path: Path) -> None:
    overrides = [
        "loop.epochs=30",
        "loop.early_stopping_patience=4",
        "checkpoints.monitor=val/loss",
        "optimizer.lr=0.002",
    ]
    config = tiny(*overrides, "schedule.kind=constant", "model.dropout=0.0", "loop.early_stopping_min_delta=0.004")
    record = start_run(config, tmp_path)
    history = read_history(RunFolder(Path(record.folder)).events_file)
    counted, stale = None, 0
    for item in history.validations:
        value = item.metrics["val/loss"]
        if counted is None or counted - value > 0.004:
            counted, stale = value, 0
        else:
            stale += 1
        assert stale < 4 or item is history.validations[-1]
    assert record.epoch == len(history.validations)


def test_pause_holds_the_run_until_it_is_continued(tmp_path: Path) -> None:
    hooks = Hooks()
    folders: list[RunFolder] = []
    hooks.started = folders.append
    seen: list[str] = []

    def watch(event: Event) -> None:
        if event.kind == "validated" and "paused" not in seen:  # told by the loop itself, in time
            hooks.control.paused.set()
        phase = getattr(event, "phase", "")
        if phase == "paused":
            seen.append("paused")
            assert folders[0].status().status == "paused"
            send(folders[0].path, Command.CONTINUE)

    hooks.watch = watch
    record = start_run(tiny(), tmp_path, hooks)
    assert seen == ["paused"]
    assert record.status == "completed"


def test_a_request_is_obeyed_however_short_the_epochs_are(tmp_path: Path) -> None:
    """Flushes at epochs' ends once put off the look at the commands for ever."""
    hooks = Hooks()

    def watch(event: Event) -> None:
        if isinstance(event, Validated) and event.epoch == 1:
            send(next((tmp_path / "runs").iterdir()), Command.STOP)

    hooks.watch = watch
    record = start_run(tiny("loop.epochs=600", "checkpoints.every_steps=none"), tmp_path, hooks)
    assert record.status == "stopped"


def test_saving_and_looking_are_done_at_once_while_paused(tmp_path: Path) -> None:
    hooks = Hooks()
    folders: list[RunFolder] = []
    hooks.started = folders.append
    asked: list[Event] = []
    done: list[Event] = []
    saved: list[CheckpointInfo] = []

    def watch(event: Event) -> None:
        if event.kind == "attempt_started":
            hooks.control.paused.set()
        if getattr(event, "phase", "") == "paused" and not asked:
            asked.append(event)
            send(folders[0].path, Command.VALIDATE)
            send(folders[0].path, Command.SAVE)
        if event.kind in ("validated", "checkpoint_saved") and hooks.control.paused.is_set():
            done.append(event)
            if event.kind == "checkpoint_saved":
                saved.extend(list_checkpoints(folders[0]))
                send(folders[0].path, Command.CONTINUE)

    hooks.watch = watch
    record = start_run(tiny(), tmp_path, hooks)
    assert [(event.kind, getattr(event, "step", None)) for event in done] == [("validated", 1), ("checkpoint_saved", 1)]
    assert isinstance(done[0], Validated)
    assert [(info.metrics_step, info.metrics["val/loss"]) for info in saved] == [(1, done[0].metrics["val/loss"])]
    assert weights(record) == weights(start_run(tiny(), tmp_path))


def test_files_that_are_left_out_are_named_by_the_run(tmp_path: Path) -> None:
    for name in ("cat", "dog"):
        (tmp_path / "pets" / name).mkdir(parents=True)
        for number in range(6):
            Image.new("RGB", (12, 12), (40 * number, 90, 30)).save(tmp_path / "pets" / name / f"{number}.png")
    (tmp_path / "pets" / "cat" / "broken.jpg").write_text("not an image")
    said: list[Event] = []
    config = tiny(
        "dataset.kind=image_folder", f"dataset.path={tmp_path / 'pets'}", "model.kind=small_cnn", "loop.epochs=1"
    )
    record = start_run(config, tmp_path, Hooks(watch=said.append))
    assert record.status == "completed"
    [finding] = [event for event in said if isinstance(event, Finding)]
    assert finding.title.startswith("Left out: 1 file ")
    assert "cat/broken.jpg" in finding.advice


def test_images_without_class_folders_are_told_so(tmp_path: Path) -> None:
    Image.new("RGB", (12, 12)).save(tmp_path / "one.png")
    config = tiny("dataset.kind=image_folder", f"dataset.path={tmp_path}", "model.kind=small_cnn")
    with pytest.raises(InputError, match="no class folders"):
        start_run(config, tmp_path / "workspace")


def test_stop_without_saving_keeps_the_earlier_checkpoints(tmp_path: Path) -> None:
    hooks = Hooks()

    def watch(event: Event) -> None:
        if isinstance(event, Validated):
            hooks.control.discard = True
            hooks.control.request_stop()

    hooks.watch = watch
    record = start_run(tiny("checkpoints.every_steps=3"), tmp_path, hooks)
    assert record.status == "stopped"
    assert list_checkpoints(RunFolder(Path(record.folder)))[0].step in (6, 8)


def test_retention_keeps_the_newest_and_the_best(tmp_path: Path) -> None:
    record = start_run(tiny("loop.epochs=6", "checkpoints.every_steps=2", "checkpoints.keep_last=2"), tmp_path)
    kept = list_checkpoints(RunFolder(Path(record.folder)))
    labeled = {label for info in kept for label in info.labels}
    assert labeled == {"last", "best"}
    assert 2 <= len(kept) <= 3
    assert kept[0].step == record.step


def test_too_many_skipped_steps_end_with_an_explanation(tmp_path: Path) -> None:
    # Each step multiplies the weights by -999, so they overflow within twenty steps, whatever the rounding. Epochs and
    # saves that come faster than the loop's look at the clock must not hide it.
    wild = ("optimizer.kind=sgd", "optimizer.lr=100.0", "optimizer.weight_decay=10.0", "schedule.kind=constant")
    record = start_run(tiny(*wild, "loop.clip_norm=none", "loop.max_skipped_steps=3", "loop.epochs=8"), tmp_path)
    assert record.status == "failed"
    assert record.skipped_steps >= 3
    assert "not finite" in str(record.reason)
    assert "learning rate" in str(record.advice)
