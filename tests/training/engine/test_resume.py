"""Resuming when something in the run folder is not as the run left it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.training.tiny import tiny
from training.engine.runs import attempt
from training.engine.runs.run import Hooks, resume_run, start_run
from training.errors import CheckpointError, InputError, TrainingError
from training.events import Completed, Event, Finding
from training.runs.folder import RunFolder, owner_of
from training.runs.records.history import read_history
from training.runs.records.manifest import BEST, LAST, read_labels, read_manifest, write_labels


def run_of_three_epochs(workspace: Path, *overrides: str) -> RunFolder:
    return RunFolder(Path(start_run(tiny(*overrides), workspace).folder))


@pytest.mark.parametrize("labels", [{LAST: "step-00000020"}, {}, None])
def test_labels_are_true_again_after_a_resume(tmp_path: Path, labels: dict[str, str] | None) -> None:
    """A kill can come between a checkpoint and its labels."""
    folder = run_of_three_epochs(tmp_path)
    right = read_labels(folder)
    if labels is None:
        folder.labels_file.write_text('{"la')
    else:
        write_labels(folder, labels)
    record = resume_run(str(folder.path), tmp_path)
    assert read_labels(folder) == right
    assert Path(str(record.last_checkpoint)).name == "step-00000024"
    assert record.best is not None
    assert Path(str(record.best.checkpoint)).name == right[BEST]


def test_last_is_the_checkpoint_gone_back_to_until_a_newer_one_is_saved(tmp_path: Path) -> None:
    folder = run_of_three_epochs(tmp_path)
    hooks = Hooks()

    def stop_at_once(event: Event) -> None:
        if event.kind == "attempt_started":
            hooks.control.discard = hooks.control.stop = True

    hooks.watch = stop_at_once
    record = resume_run(str(folder.checkpoints / "step-00000016"), tmp_path, hooks=hooks)
    assert Path(str(record.last_checkpoint)).name == "step-00000016"
    assert resume_run(str(record.last_checkpoint), tmp_path).status == "completed"


def test_a_checkpoint_without_readable_manifest_is_passed_over_with_a_word(tmp_path: Path) -> None:
    folder = run_of_three_epochs(tmp_path)
    (folder.checkpoints / "step-00000024" / "manifest.json").write_text("{")
    said: list[Event] = []
    assert resume_run(str(folder.path), tmp_path, hooks=Hooks(watch=said.append)).step == 24
    [finding] = [event for event in said if isinstance(event, Finding)]
    assert "step-00000024" in finding.advice
    assert finding.step == 20


def test_with_every_checkpoint_damaged_nothing_begins_from_scratch(tmp_path: Path) -> None:
    folder = run_of_three_epochs(tmp_path)
    rows = folder.series_file.read_bytes()
    for path in folder.checkpoints.iterdir():
        (path / "manifest.json").unlink()
    with pytest.raises(CheckpointError, match="whole"):
        resume_run(str(folder.path), tmp_path)
    assert folder.series_file.read_bytes() == rows


def test_a_lost_series_is_said_and_trained_on_from_the_newest_checkpoint(tmp_path: Path) -> None:
    folder = run_of_three_epochs(tmp_path)
    folder.series_file.unlink()
    folder.events_file.unlink()
    said: list[Event] = []
    record = resume_run(str(folder.path), tmp_path, hooks=Hooks(watch=said.append))
    assert record.step == 24
    assert any("series.bin was damaged" in event.title for event in said if isinstance(event, Finding))


def _edit(old: str, new: str) -> Callable[[RunFolder], None]:
    def edit(folder: RunFolder) -> None:
        text = folder.config_file.read_text()
        assert old in text
        folder.config_file.write_text(text.replace(old, new, 1))

    return edit


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (_edit("lr = 0.001", "lr = 0.5"), r"config\.toml.*optimizer\.lr"),
        (_edit("hidden = [16, 16]", "hidden = [8, 8]"), r"config\.toml.*model\.hidden"),
        (_edit("split_seed = 0", "split_seed = 7"), "split"),
    ],
)
def test_a_configuration_edited_by_hand_is_refused(
    tmp_path: Path, edit: Callable[[RunFolder], None], words: str
) -> None:
    folder = run_of_three_epochs(tmp_path)
    edit(folder)
    with pytest.raises(InputError, match=words):
        resume_run(str(folder.checkpoints / "step-00000016"), tmp_path)


def test_changed_data_is_noticed_without_the_folders_own_note_of_it(tmp_path: Path) -> None:
    folder = run_of_three_epochs(tmp_path)
    folder.data_file.write_text("{")
    _edit("data_seed = 0", "data_seed = 1")(folder)
    with pytest.raises(InputError, match="data_seed"):
        resume_run(str(folder.path), tmp_path)


def test_settings_that_are_off_are_no_change(tmp_path: Path) -> None:
    folder = run_of_three_epochs(tmp_path, "loop.clip_norm=none", "checkpoints.every_steps=none")
    loop = read_manifest(folder.checkpoints / "step-00000016").config["loop"]
    assert isinstance(loop, dict)
    assert loop["clip_norm"] == ""
    assert resume_run(str(folder.checkpoints / "step-00000016"), tmp_path).status == "completed"


def test_a_branch_of_a_run_outside_a_workspace_goes_into_the_workspace(tmp_path: Path) -> None:
    folder = run_of_three_epochs(tmp_path)
    moved = folder.path.rename(tmp_path / "taken out")
    checkpoint = moved / "checkpoints" / "step-00000016"
    record = resume_run(str(checkpoint), tmp_path / "workspace", ["loop.epochs=4"])
    assert Path(record.folder).parent == tmp_path / "workspace" / "runs"


def test_a_refused_resume_leaves_the_run_what_it_was(tmp_path: Path) -> None:
    folder = run_of_three_epochs(tmp_path)
    before = folder.status()
    _edit("lr = 0.001", "lr = 0.5")(folder)
    with pytest.raises(InputError):
        resume_run(str(folder.path), tmp_path)
    after = folder.status()
    assert after.model_copy(update={"updated": before.updated}) == before
    assert isinstance(read_history(folder.events_file).final, Completed)
    assert owner_of(folder.path) is None


def test_an_unexpected_fault_before_the_first_step_is_a_finding_not_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object, **_settings: object) -> None:
        raise RuntimeError("not enough memory")

    monkeypatch.setattr(attempt, "assemble", fail)
    with pytest.raises(TrainingError, match="out of memory") as caught:
        start_run(tiny(), tmp_path)
    assert caught.value.exit_code == 1
    folder = RunFolder(next((tmp_path / "runs").iterdir()))
    assert folder.status().status == "failed"
    assert folder.status().fix == {"loader.mode": "streamed"}
    assert "Traceback" in folder.log_file.read_text()


def test_a_damaged_configuration_is_named(tmp_path: Path) -> None:
    folder = run_of_three_epochs(tmp_path)
    folder.config_file.write_text(folder.config_file.read_text() + "x = [")
    with pytest.raises(InputError, match=r"config\.toml"):
        resume_run(str(folder.path), tmp_path)


def test_an_edited_configuration_is_refused_before_a_sheet_says_the_opposite(tmp_path: Path) -> None:
    folder = run_of_three_epochs(tmp_path)
    text = folder.config_file.read_text()
    folder.config_file.write_text(text.replace("weight_decay = 0.01", "weight_decay = 0.02"))
    assert folder.config_file.read_text() != text
    sheets: list[object] = []
    with pytest.raises(CheckpointError, match=r"optimizer.weight_decay: 0.01 → 0.02.*; change it back"):
        resume_run(str(folder.path), tmp_path, hooks=Hooks(planned=sheets.append))
    assert sheets == []
