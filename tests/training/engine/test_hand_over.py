"""A run goes on on another machine: moved folders, moved data."""

from __future__ import annotations

import shutil
from pathlib import Path, PureWindowsPath

import pytest

from tests.training.engine.handing_over import HERE, stopping, weights
from tests.training.tiny import tiny, tiny_images, write_idx
from training.engine.runs.run import branch_run, intend_resume, resume_run, start_run
from training.errors import InputError
from training.runs.folder import RunFolder, read_json
from training.runs.records.history import read_history
from training.runs.relocation import PLACES
from training.system.atomic import write_text

SHORT = "loop.max_steps=2"


def carry(folder: RunFolder, to: Path) -> RunFolder:
    """The run folder as a person copies it; nothing stays where it was."""
    shutil.copytree(folder.path, to)
    shutil.rmtree(folder.path)
    return RunFolder(to)


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_idx(tmp_path_factory.mktemp("pictures") / "data")


@pytest.fixture(scope="module")
def whole(images: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The weights of the run that was never moved."""
    return weights(start_run(tiny_images(images), tmp_path_factory.mktemp("whole")))


def begun(images: Path, at: Path) -> RunFolder:
    """A run stopped after its first epoch, with data of its own beside the workspace: at/data and at/work/runs/..."""
    shutil.copytree(images, at / "data")
    return RunFolder(Path(start_run(tiny_images(at / "data"), at / "work", stopping()).folder))


def test_a_copied_run_is_the_same_run_with_its_data_somewhere_else(images: Path, whole: str, tmp_path: Path) -> None:
    folder = begun(images, tmp_path / "old")
    config = folder.config_file.read_bytes()
    moved = carry(folder, tmp_path / "new" / folder.id)
    record = moved.status()
    assert record.best is not None
    assert Path(str(record.last_checkpoint)).parent == Path(str(record.best.checkpoint)).parent == moved.checkpoints
    assert Path(str(record.last_checkpoint)).is_dir()
    (tmp_path / "old" / "data").rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"--set dataset\.path"):
        resume_run(str(moved.path), tmp_path)
    stopped = resume_run(str(moved.path), tmp_path, [f"dataset.path={tmp_path / 'elsewhere'}"], stopping(at=8))
    assert (stopped.run, stopped.status, stopped.step) == (moved.id, "stopped", 8)
    assert moved.config_file.read_bytes() == config
    record = resume_run(str(moved.path), tmp_path)  # told once is enough
    assert record.status == "completed"
    assert weights(record) == whole
    assert [event.changes for event in read_history(moved.events_file).attempts][1][0].startswith("dataset.path: ")


def test_a_relative_path_means_the_working_folder(
    images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = begun(images, tmp_path / "old")
    (tmp_path / "old" / "data").rename(tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path)
    assert resume_run(str(folder.path), tmp_path, ["dataset.path=elsewhere"]).run == folder.id
    assert read_json(folder.path / PLACES) == {HERE: {"dataset.path": str(tmp_path / "elsewhere")}}


@pytest.mark.slow
@pytest.mark.parametrize("way", ["resume", "before the first checkpoint", "branch"])
def test_relative_paths_of_a_branch_mean_the_working_folder(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = Path(str(start_run(tiny(SHORT), tmp_path).last_checkpoint))
    parent = start_run(tiny(SHORT), tmp_path)
    checkpoint = Path(str(parent.last_checkpoint))
    monkeypatch.chdir(chosen.parent)
    if way == "before the first checkpoint":
        shutil.rmtree(checkpoint.parent)
    wanted = ["objective.kind=distillation", f"objective.teacher={chosen.name}", "loop.max_steps=3"]
    if way == "branch":
        branch = branch_run(checkpoint, tiny(*wanted), tmp_path)
    else:
        branch = resume_run(parent.run, tmp_path, wanted)
    assert branch.run != parent.run
    objective = RunFolder(Path(branch.folder)).config().objective
    assert getattr(objective, "teacher", None) == str(chosen)
    monkeypatch.chdir(tmp_path)
    resumed = resume_run(branch.folder, tmp_path)
    assert (resumed.run, resumed.status) == (branch.run, "completed")


def test_paths_that_nobody_typed_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that leads through a link that was set anew is still what the run said, and no reason for a branch."""
    for name in ("first", "second"):
        start_run(tiny(SHORT), tmp_path / name)
    (tmp_path / "link").symlink_to(tmp_path / "first")
    teacher = next((tmp_path / "link" / "runs").iterdir())
    monkeypatch.chdir(tmp_path)
    record = start_run(
        tiny("objective.kind=distillation", f"objective.teacher={teacher}", "loop.max_steps=2"), tmp_path
    )
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to(tmp_path / "second")
    intent = intend_resume(record.run, tmp_path, ["checkpoints.keep_last=7"])
    assert intent.same_run
    assert [change.path for change in intent.changed] == ["checkpoints.keep_last"]
    same = intend_resume(record.run, tmp_path, [f"objective.teacher={teacher}"])
    assert not same.changed


def test_data_that_moved_together_with_the_run_is_found(images: Path, whole: str, tmp_path: Path) -> None:
    folder = begun(images, tmp_path / "old")
    (tmp_path / "old").rename(tmp_path / "new")
    stopped = resume_run(str(tmp_path / "new" / "work" / "runs" / folder.id), tmp_path, hooks=stopping(at=8))
    record = resume_run(stopped.folder, tmp_path)
    assert record.status == "completed"
    assert weights(record) == whole


def test_a_run_from_windows_finds_its_data_beside_it(images: Path, tmp_path: Path) -> None:
    folder = begun(images, tmp_path / "old")
    windows = PureWindowsPath("D:\\study")
    here = str(tmp_path / "old")
    text = folder.config_file.read_text()
    folder.config_file.write_text(text.replace(f'"{here}/data"', f"'{windows / 'data'}'"))
    status = folder.status().model_copy(update={"folder": str(windows / "work" / "runs" / folder.id)})
    folder.write_status(status)
    assert intend_resume(str(folder.path), tmp_path).before.dataset.path == str(tmp_path / "old" / "data")  # type: ignore[union-attr]
    assert resume_run(str(folder.path), tmp_path).status == "completed"


def test_other_data_is_refused_and_not_remembered(images: Path, tmp_path: Path) -> None:
    folder = begun(images, tmp_path / "old")
    other = write_idx(tmp_path / "other", samples=200)
    with pytest.raises(InputError, match="not the one this run was trained on"):
        resume_run(str(folder.path), tmp_path, [f"dataset.path={other}"])
    assert not (folder.path / PLACES).exists()
    assert resume_run(str(folder.path), tmp_path).status == "completed"


def test_a_broken_record_of_places_does_no_harm(images: Path, tmp_path: Path) -> None:
    folder = begun(images, tmp_path / "old")
    (folder.path / PLACES).write_text("[")
    assert resume_run(str(folder.path), tmp_path).status == "completed"


def test_what_was_said_on_another_machine_holds_there_only(images: Path, tmp_path: Path) -> None:
    folder = begun(images, tmp_path / "old")
    (tmp_path / "old" / "data").rename(tmp_path / "elsewhere")
    there = {"dataset.path": str(tmp_path / "elsewhere"), "precision.threads": 2}
    write_text(folder.path / PLACES, f'{{"another machine": {there}}}'.replace("'", '"'))
    config = intend_resume(str(folder.path), tmp_path).wanted
    assert config.precision.threads is None
    assert config.dataset.path == str(tmp_path / "elsewhere")  # type: ignore[union-attr]  # nodes of a cluster share it


def test_a_branch_of_a_moved_run_knows_where_the_data_is(images: Path, tmp_path: Path) -> None:
    folder = begun(images, tmp_path / "old")
    (tmp_path / "old" / "data").rename(tmp_path / "elsewhere")
    changes = [f"dataset.path={tmp_path / 'elsewhere'}", "loop.epochs=4", "schedule.kind=constant"]
    record = resume_run(str(folder.path), tmp_path, changes)
    assert record.parent is not None
    assert record.parent.run == folder.id
    assert RunFolder(Path(record.folder)).config().dataset.path == str(tmp_path / "elsewhere")  # type: ignore[union-attr]
    assert len(read_history(RunFolder(Path(record.folder)).events_file).epochs) == 4
