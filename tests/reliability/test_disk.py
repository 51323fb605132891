"""The disk under a run: full, limited, read-only, gone. One sentence, whole checkpoints, and the same run afterwards."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.disks import fill, mount_disk, mounted
from tests.training.tiny import tiny
from training.cli import main
from training.config import RunConfig, save_config
from training.engine.runs.run import Hooks, resume_run, start_run
from training.errors import InputError, TrainingError
from training.events import AttemptStarted, CheckpointSaved, DataPrepared, EpochEnded, Event, Failed, Validated
from training.runs import owner
from training.runs.folder import RunFolder
from training.runs.index.workspace_database import VARIABLE
from training.runs.records.history import read_history
from training.runs.records.manifest import checkpoint_folders, read_labels, read_manifest, verify
from training.runs.records.series import read_series
from training.runs.rewind import list_set_aside, restore
from training.runs.set_aside import SET_ASIDE

if sys.platform == "win32":
    pytest.skip("mounts and limits are those of other systems", allow_module_level=True)
import resource

COMMAND = [sys.executable, "-m", "training"]


def config(*overrides: str) -> RunConfig:
    return tiny("loader.mode=resident", "checkpoints.keep_last=50", *overrides)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return RunFolder(Path(start_run(config(), tmp_path_factory.mktemp("whole")).folder))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Three megabytes."""
    with mount_disk(tmp_path / "disk", 3) as disk:
        yield disk


def assert_same_run(folder: RunFolder, whole: RunFolder) -> None:
    last = "step-00000024"
    there, here = (read_manifest(run.checkpoints / last).files for run in (whole, folder))
    assert here == there
    assert read_series(folder.series_file).tobytes() == read_series(whole.series_file).tobytes()
    validations = [
        [(item.step, item.metrics) for item in read_history(run.events_file).validations] for run in (folder, whole)
    ]
    assert validations[0] == validations[1]
    assert read_labels(folder) == read_labels(whole)
    assert folder.status().status == "completed"


def assert_nothing_half_written(folder: RunFolder) -> None:
    for checkpoint in checkpoint_folders(folder):
        verify(checkpoint)
    assert [path for path in folder.path.rglob(".*") if path.name not in (".", "..")] == []
    assert folder.events_file.read_bytes().endswith(b"\n")
    assert (folder.series_file.stat().st_size if folder.series_file.exists() else 0) % 32 == 0


def when(true: Callable[[Event], bool], act: Callable[[], None]) -> Hooks:
    hooks = Hooks()
    done: list[Event] = []

    def watch(event: Event) -> None:
        if not done and true(event):
            done.append(event)
            act()

    hooks.watch = watch
    return hooks


def why_it_failed(settings: RunConfig, workspace: Path, hooks: Hooks) -> str:
    """Train; the sentences of the failure, which may come before the first step or later."""
    try:
        record = start_run(settings, workspace, hooks)
    except InputError:
        raise
    except TrainingError as error:
        return str(error)
    assert record.status == "failed"
    return f"{record.reason} {record.advice}"


MOMENTS: dict[str, Callable[[Event], bool]] = {
    "preparing data": lambda event: event.kind == "phase_changed",
    "data prepared": lambda event: isinstance(event, DataPrepared),
    "first step": lambda event: isinstance(event, AttemptStarted),
    "checkpoint": lambda event: isinstance(event, CheckpointSaved),
    "epoch": lambda event: isinstance(event, EpochEnded),
    "validated": lambda event: isinstance(event, Validated) and event.step == 16,
}


@pytest.mark.parametrize(
    ("moment", "spare"),
    [
        *(pytest.param(moment, 0, marks=() if moment == "checkpoint" else pytest.mark.slow) for moment in MOMENTS),
        *(
            pytest.param(moment, size, marks=pytest.mark.slow)
            for moment, size in zip(MOMENTS, [4096, 20480] * 3, strict=True)
        ),
    ],
)
def test_a_disk_that_fills_up_ends_the_run_with_a_sentence(
    small_disk: Path, whole: RunFolder, moment: str, spare: int
) -> None:
    hooks = when(MOMENTS[moment], lambda: fill(small_disk, spare))
    message = why_it_failed(config(), small_disk, hooks)
    folder = RunFolder(next((small_disk / "runs").iterdir()))
    assert f"The disk of {folder.path} is full" in message
    assert "Free some space, then resume" in message
    assert_nothing_half_written(folder)
    assert folder.status().status == "failed"
    assert "is full" in str(folder.status().reason)
    assert isinstance(read_history(folder.events_file).final, Failed)
    (small_disk / "filler").unlink()
    resume_run(str(folder.path), small_disk)
    assert_same_run(folder, whole)


@pytest.mark.parametrize("spare", [0, 20480])
def test_a_disk_that_fills_up_while_a_run_goes_back_leaves_it_as_it_was(
    small_disk: Path, whole: RunFolder, spare: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Elsewhere: its own thread writes it, and gives back room whenever it finds none.
    monkeypatch.setenv(VARIABLE, f"sqlite:///{tmp_path / 'index.sqlite'}")
    folder = RunFolder(small_disk / "runs" / whole.id)
    shutil.copytree(whole.path, folder.path)
    before = folder.status()
    hooks = when(MOMENTS["data prepared"], lambda: fill(small_disk, spare))
    with pytest.raises(InputError) as refused:
        resume_run(str(folder.checkpoints / "step-00000008"), small_disk, hooks=hooks)
    assert f"The disk of {folder.path} is full (No space left on device). The run was left as it is." in str(
        refused.value
    )
    assert_nothing_half_written(folder)
    assert_same_run(folder, whole)
    assert [path.name for path in checkpoint_folders(folder)] == [path.name for path in checkpoint_folders(whole)]
    assert not (folder.path / SET_ASIDE).exists()
    unchanged = {"updated": before.updated, "seconds": before.seconds}
    assert folder.status().model_copy(update=unchanged) == before
    (small_disk / "filler").unlink()
    resume_run(str(folder.checkpoints / "step-00000008"), small_disk)
    assert_same_run(folder, whole)
    [aside] = list_set_aside(folder)
    fill(small_disk, 0)
    with pytest.raises(InputError, match="No space left"):
        restore(folder, aside)
    assert_same_run(folder, whole)
    assert list_set_aside(folder) == [aside]


def test_a_disk_that_is_full_from_the_start_is_said_and_nothing_is_left(small_disk: Path) -> None:
    fill(small_disk, 0)
    with pytest.raises(InputError, match=r"cannot be written.*No space left"):
        start_run(config(), small_disk)
    assert not list((small_disk / "runs").glob("*"))


@pytest.mark.slow  # each compiles all that it imports, as what is compiled is a file over the limit
@pytest.mark.parametrize("size", [1 << 10, 6 << 10, 12 << 10])
def test_a_limit_on_files_ends_the_command_with_a_sentence(tmp_path: Path, whole: RunFolder, size: int) -> None:
    """What is refused depends on the limit: the configuration, the environment, a checkpoint, the series."""
    config_file = tmp_path / "config.toml"
    save_config(config(), config_file)
    done = subprocess.run(
        [*COMMAND, "run", str(config_file), "--workspace", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )
    assert "Traceback" not in done.stderr
    assert "File too large" in done.stderr
    assert str(tmp_path) in done.stderr
    folders = list((tmp_path / "runs").iterdir())
    if not folders:
        assert done.returncode == 2
        return
    assert done.returncode == 1
    folder = RunFolder(folders[0])
    assert_nothing_half_written(folder)
    resume_run(str(folder.path), tmp_path)
    assert_same_run(folder, whole)


@pytest.mark.parametrize(
    ("moment", "fault"),
    [("preparing data", "moved"), ("checkpoint", "deleted"), ("checkpoint", "moved"), ("validated", "deleted")],
)
def test_a_folder_that_disappears_ends_the_run_and_is_not_made_again(
    tmp_path: Path, whole: RunFolder, monkeypatch: pytest.MonkeyPatch, fault: str, moment: str
) -> None:
    monkeypatch.setattr(owner, "BEAT_SECONDS", 0.02)

    def vanish() -> None:
        [path] = (tmp_path / "runs").iterdir()
        if fault == "deleted":
            while path.exists():  # the run may write another file while its folder is being emptied
                shutil.rmtree(path, ignore_errors=True)
        else:
            path.rename(tmp_path / "elsewhere")

    message = why_it_failed(config("loop.epochs=300"), tmp_path, when(MOMENTS[moment], vanish))
    assert "is gone" in message
    assert str(tmp_path / "runs") in message
    assert list((tmp_path / "runs").iterdir()) == []
    if fault == "moved" and moment != "preparing data":
        assert isinstance(read_history(tmp_path / "elsewhere" / "events.jsonl").final, Failed)


def test_a_file_that_disappears_is_named(tmp_path: Path) -> None:
    def delete() -> None:
        for path in (tmp_path / "runs").glob("*/boundary.bin"):
            path.unlink()

    message = why_it_failed(config("loop.epochs=300"), tmp_path, when(MOMENTS["checkpoint"], delete))
    assert "boundary.bin is gone: it was deleted or moved" in message
    assert "Leave a run's files in place and resume." in message


def test_checkpoints_that_are_deleted_while_the_run_works_are_made_again(tmp_path: Path, whole: RunFolder) -> None:
    def delete() -> None:
        [path] = (tmp_path / "runs").iterdir()
        shutil.rmtree(path / "checkpoints", ignore_errors=True)

    record = start_run(config(), tmp_path, when(MOMENTS["checkpoint"], delete))
    folder = RunFolder(Path(record.folder))
    assert record.status == "completed"
    assert verify(folder.checkpoints / "step-00000024").files == verify(whole.checkpoints / "step-00000024").files


@pytest.fixture
def read_only(tmp_path: Path, whole: RunFolder) -> Iterator[Path]:
    """A workspace with a run that nobody may write to."""
    workspace = tmp_path / "workspace"
    shutil.copytree(whole.path, workspace / "runs" / whole.id)
    if os.geteuid() != 0:
        for path in (workspace, *workspace.rglob("*")):
            path.chmod(path.stat().st_mode & ~0o222)
        yield workspace
        for path in (workspace, *workspace.rglob("*")):
            path.chmod(path.stat().st_mode | 0o200)
        return
    if not mounted(workspace, "--bind", str(workspace)) or not mounted(workspace, "-o", "remount,ro,bind"):
        pytest.skip("a read-only mount needs rights that this user has not")
    yield workspace
    subprocess.run(["umount", "-l", str(workspace)], check=True)


def test_a_read_only_workspace_is_said_and_nothing_is_changed(
    tmp_path: Path, whole: RunFolder, read_only: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in read_only.rglob("*")}
    save_config(config(), tmp_path / "config.toml")
    older = str(read_only / "runs" / whole.id / "checkpoints" / "step-00000008")
    for arguments in (["run", str(tmp_path / "config.toml")], ["resume", whole.id], ["resume", older]):
        assert main([*arguments, "--workspace", str(read_only)]) == 2
        said = capsys.readouterr().err
        assert len(said.strip().splitlines()) == 1, said
        assert "cannot be written" in said or "cannot be used (Permission denied)" in said
        assert str(read_only) in said
    assert main(["runs", "--workspace", str(read_only)]) == 0
    assert whole.id in capsys.readouterr().out
    assert {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in read_only.rglob("*")} == before
