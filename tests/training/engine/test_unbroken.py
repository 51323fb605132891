"""Stopped and resumed, from whatever checkpoint, or prepared otherwise: the run is the unbroken one to the bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.engine.handing_over import weights
from tests.training.engine.stopping import stopping_after
from tests.training.tiny import tiny, tiny_images, write_idx
from training.engine.runs.run import Hooks, branch_run, resume_run, start_run
from training.errors import CheckpointError, InputError
from training.events import Event, Finding, Stopped
from training.runs.folder import RunFolder
from training.runs.records.forms import StatusRecord
from training.runs.records.history import read_history
from training.runs.records.manifest import list_checkpoints, read_manifest
from training.runs.records.series import read_series


def all_digests(record: StatusRecord) -> dict[str, str]:
    files = read_manifest(Path(str(record.last_checkpoint))).files
    return {name: facts.sha256 for name, facts in files.items()}


def test_the_same_seed_gives_the_same_run_and_another_seed_another(tmp_path: Path) -> None:
    first, second = start_run(tiny(), tmp_path), start_run(tiny(), tmp_path)
    other = start_run(tiny("seed=1"), tmp_path)
    assert weights(first) == weights(second)
    assert first.metrics == second.metrics
    assert weights(other) != weights(first)


@pytest.mark.parametrize(
    ("optimizer", "compute"),
    [
        ("adamw", "fp32"),
        ("adam", "bf16"),
        ("sgd", "fp16"),
        pytest.param("adamw", "bf16", marks=pytest.mark.slow),
        pytest.param("adamw", "fp16", marks=pytest.mark.slow),
    ],
)
def test_stop_and_resume_equal_an_unbroken_run(tmp_path: Path, optimizer: str, compute: str) -> None:
    data = write_idx(tmp_path / "data")
    config = tiny_images(data, f"optimizer.kind={optimizer}", f"precision.compute={compute}")
    whole = start_run(config, tmp_path)
    stopped = start_run(config, tmp_path, stopping_after(4))
    folder = RunFolder(Path(stopped.folder))
    assert stopped.status == "stopped"
    assert isinstance(read_history(folder.events_file).final, Stopped)
    assert stopped.step < whole.step
    resumed = resume_run(stopped.folder, tmp_path)
    assert resumed.status == "completed"
    assert all_digests(resumed) == all_digests(whole)
    assert resumed.metrics == whole.metrics
    assert resumed.best is not None
    assert whole.best is not None
    assert resumed.best.step == whole.best.step
    there = read_series(RunFolder(Path(whole.folder)).series_file)
    assert read_series(folder.series_file).tobytes() == there.tobytes()


def test_batches_of_an_odd_number_of_bytes_resume_to_the_bit(tmp_path: Path) -> None:
    config = tiny(
        "loop.batch_size=25", "dataset.samples=1000", "loop.epochs=2", "model.hidden=[48, 48]",
        "checkpoints.every_steps=7", "checkpoints.keep_last=50",
    )  # fmt: skip
    whole = start_run(config, tmp_path)
    folder = RunFolder(Path(whole.folder))
    expected = all_digests(whole)
    for step in (7, 42):  # in the midst of either epoch
        resumed = resume_run(str(folder.checkpoints / f"step-{step:08d}"), tmp_path)
        assert (resumed.step, resumed.status) == (64, "completed")
        assert all_digests(resumed) == expected


def test_resume_from_each_checkpoint_gives_the_same_run(tmp_path: Path) -> None:
    config = tiny_images(write_idx(tmp_path / "data"), "schedule.kind=plateau", "schedule.patience=0")
    whole = start_run(config, tmp_path)
    folder = RunFolder(Path(whole.folder))
    expected, rows = all_digests(whole), read_series(folder.series_file).tobytes()
    steps = [info.step for info in list_checkpoints(folder)]
    assert len(steps) >= 5
    for step in steps:
        resumed = resume_run(str(folder.checkpoints / f"step-{step:08d}"), tmp_path)
        assert all_digests(resumed) == expected
        assert read_series(folder.series_file).tobytes() == rows
    assert [item.step for item in read_history(folder.events_file).validations if "val/loss" in item.metrics] == [
        4,
        8,
        12,
    ]


@pytest.mark.slow
def test_how_batches_are_prepared_changes_no_bit(tmp_path: Path) -> None:
    data = write_idx(tmp_path / "data")
    runs = [
        start_run(tiny_images(data, *overrides), tmp_path)
        for overrides in (
            ("loader.mode=resident",),
            ("loader.mode=streamed", "loader.workers=0"),
            ("loader.mode=streamed", "loader.workers=2"),
        )
    ]
    assert len({weights(record) for record in runs}) == 1
    assert len({str(record.metrics) for record in runs}) == 1


def test_extra_saving_and_looking_changes_no_bit(tmp_path: Path) -> None:
    data = write_idx(tmp_path / "data")
    plain = start_run(tiny_images(data, "checkpoints.every_steps=none"), tmp_path)
    hooks = Hooks()

    def watch(event: Event) -> None:
        if event.kind in ("epoch_ended", "attempt_started"):
            hooks.control.validate = hooks.control.save = True

    hooks.watch = watch
    busy = start_run(tiny_images(data, "checkpoints.every_steps=1", "loop.validate_every_steps=3"), tmp_path, hooks)
    assert weights(busy) == weights(plain)


def test_a_damaged_newest_checkpoint_falls_back_and_says_so(tmp_path: Path) -> None:
    whole = start_run(tiny(), tmp_path)
    stopped = start_run(tiny(), tmp_path, stopping_after(12))
    newest = Path(str(stopped.last_checkpoint))
    flip_byte(newest / "model.safetensors")
    said: list[Event] = []
    resumed = resume_run(stopped.folder, tmp_path, hooks=Hooks(watch=said.append))
    assert weights(resumed) == weights(whole)
    warnings = [event for event in said if isinstance(event, Finding) and event.level == "warning"]
    assert newest.name in warnings[0].advice


def flip_byte(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("name", ["model.safetensors", "state.pt", "manifest.json"])
@pytest.mark.parametrize("fault", ["flip", "truncate", "delete"])
def test_a_damaged_checkpoint_is_refused_when_asked_for(tmp_path: Path, name: str, fault: str) -> None:
    record = start_run(tiny("loop.epochs=1"), tmp_path)
    checkpoint = Path(str(record.last_checkpoint))
    victim = checkpoint / name
    if fault == "flip":
        flip_byte(victim)
    elif fault == "truncate":
        victim.write_bytes(victim.read_bytes()[:-7])
    else:
        victim.unlink()
    before = sorted(path.name for path in checkpoint.parent.iterdir())
    with pytest.raises(CheckpointError, match=checkpoint.name):
        resume_run(str(checkpoint), tmp_path)
    assert sorted(path.name for path in checkpoint.parent.iterdir()) == before


def test_a_changed_dataset_is_refused_on_resume(tmp_path: Path) -> None:
    data = write_idx(tmp_path / "data")
    stopped = start_run(tiny_images(data), tmp_path, stopping_after(2))
    write_idx(tmp_path / "data", samples=200)
    with pytest.raises(InputError, match="not the one this run was trained on"):
        resume_run(stopped.folder, tmp_path)


def test_a_run_cut_off_before_its_first_checkpoint_begins_again(tmp_path: Path) -> None:
    whole = start_run(tiny(), tmp_path)
    other = start_run(tiny(), tmp_path, stopping_after(4))
    folder = RunFolder(Path(other.folder))
    for info in list_checkpoints(folder):
        for path in info.path.iterdir():
            path.unlink()
        info.path.rmdir()
    resumed = resume_run(str(folder.path), tmp_path)
    assert weights(resumed) == weights(whole)


def test_a_branch_goes_on_with_changed_settings_as_a_new_run(tmp_path: Path) -> None:
    parent = start_run(tiny(), tmp_path)
    checkpoint = RunFolder(Path(parent.folder)).checkpoints / "step-00000016"
    said: list[Event] = []
    changed = tiny("loop.epochs=5", "optimizer.lr=0.5", "name=longer")
    branch = branch_run(checkpoint, changed, tmp_path, Hooks(watch=said.append))
    series = read_series(RunFolder(Path(branch.folder)).series_file)
    before = read_series(RunFolder(Path(parent.folder)).series_file)
    assert branch.run != parent.run
    assert branch.step == 40
    assert series[:16].tobytes() == before[:16].tobytes()
    assert series["step"].tolist() == list(range(1, 41))
    found = [event for event in said if isinstance(event, Finding)]
    assert "optimizer.lr" in found[0].advice
    assert "weights" in found[0].title


def test_resume_with_changed_settings_branches_unless_they_change_no_result(tmp_path: Path) -> None:
    stopped = start_run(tiny(), tmp_path, stopping_after(8))
    same = resume_run(stopped.folder, tmp_path, ["loader.workers=0", "checkpoints.keep_last=9"])
    assert same.run == stopped.run
    other = resume_run(stopped.folder, tmp_path, ["loop.epochs=4"])
    assert other.run != stopped.run
    assert other.parent is not None
    assert other.parent.run == stopped.run
