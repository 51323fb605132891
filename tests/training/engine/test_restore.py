"""What a run set aside comes back, or is cleared away; what it has trained since is kept."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.training.engine.going_back import OFTEN, state, steps, trained
from tests.training.engine.stopping import stopping_at, stopping_at_once
from training.engine.runs.run import Hooks, resume_run
from training.errors import InputError, RunBusyError
from training.events import Event, PhaseChanged
from training.runs.folder import RunFolder, claim, owner_of, release
from training.runs.records.manifest import list_checkpoints
from training.runs.records.series import read_series
from training.runs.rewind import clear, list_set_aside, restore, throw_away
from training.runs.set_aside import SET_ASIDE
from training.runs.trash import list_trash, restore_run, trash_part


def test_going_back_twice_each_state_can_be_had_again(tmp_path: Path) -> None:
    folder = trained(tmp_path, OFTEN, "checkpoints.keep_last=9")
    states = [state(folder)]
    resume_run(str(folder.checkpoints / "step-00000016"), tmp_path, hooks=stopping_at(20))
    states.append(state(folder))
    resume_run(str(folder.checkpoints / "step-00000008"), tmp_path, hooks=stopping_at(12))
    states.append(state(folder))
    second, first = list_set_aside(folder)
    assert (first.step, second.step) == (16, 8)
    newer = restore(folder, first)
    assert newer is not None
    assert newer.step == 8  # where the third went its own way, although the first was left at 16
    assert state(folder) == states[0]
    restore(folder, second)
    assert state(folder) == states[1]
    restore(folder, newer)
    assert state(folder) == states[2]


def test_a_stretch_that_nothing_was_trained_after_is_not_exchanged_for_another(tmp_path: Path) -> None:
    folder = trained(tmp_path)
    before = state(folder)
    resume_run(str(folder.checkpoints / "step-00000016"), tmp_path, hooks=stopping_at_once())
    assert restore(folder, list_set_aside(folder)[0]) is None
    assert list_set_aside(folder) == []
    assert state(folder) == before


def test_steps_that_were_trained_since_are_kept_although_no_checkpoint_holds_them(tmp_path: Path) -> None:
    folder = trained(tmp_path, OFTEN)
    before = state(folder)

    def stop_without_saving(event: Event) -> None:
        if isinstance(event, PhaseChanged) and event.phase == "validating":
            raise KeyboardInterrupt

    resume_run(str(folder.checkpoints / "step-00000016"), tmp_path, hooks=Hooks(watch=stop_without_saving))
    since = state(folder)
    assert (steps(folder), len(read_series(folder.series_file))) == ([16], 20)
    newer = restore(folder, list_set_aside(folder)[0])
    assert state(folder) == before
    assert newer is not None
    assert (newer.step, newer.reached) == (16, 20)
    restore(folder, newer)
    assert state(folder) == since


@pytest.mark.parametrize("act", [restore, clear])
def test_a_run_at_work_is_left_alone(tmp_path: Path, act: Callable[[RunFolder, object], object]) -> None:
    folder = trained(tmp_path)
    resume_run(str(folder.checkpoints / "step-00000016"), tmp_path)
    [aside] = list_set_aside(folder)
    before = state(folder)
    claim(folder.path)
    with pytest.raises(RunBusyError, match=r"is being trained by process .*; stop it first"):
        act(folder, aside)
    release(folder.path)
    assert state(folder) == before
    act(folder, aside)
    with pytest.raises(InputError, match="nothing set aside as steps-17-24 any more"):
        act(folder, aside)
    assert owner_of(folder.path) is None


@pytest.mark.parametrize("name", [SET_ASIDE, "checkpoints"])
def test_what_vanishes_while_it_is_listed_is_not_there(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process clears it away, or exchanges it, just then."""
    folder = trained(tmp_path)
    resume_run(str(folder.checkpoints / "step-00000016"), tmp_path)
    listed = Path.iterdir

    def list_late(self: Path) -> Iterator[Path]:
        if self == folder.path / name:
            shutil.rmtree(self)
        return listed(self)

    monkeypatch.setattr(Path, "iterdir", list_late)
    found = list_set_aside(folder) if name == SET_ASIDE else list_checkpoints(folder)
    assert found == []


@pytest.mark.parametrize("act", [restore, clear])
def test_what_has_the_name_of_something_else_by_now_is_left_alone(
    tmp_path: Path, act: Callable[[RunFolder, object], object]
) -> None:
    """As for a window whose list is older than what another one did."""
    folder = trained(tmp_path)
    resume_run(str(folder.checkpoints / "step-00000016"), tmp_path)
    [old] = list_set_aside(folder)
    newer = restore(folder, old)
    assert newer is not None
    restore(folder, newer)
    [now] = list_set_aside(folder)
    assert now.name == old.name
    before = state(folder)
    with pytest.raises(InputError, match="nothing set aside as steps-17-24 any more"):
        act(folder, old)
    assert list_set_aside(folder) == [now]
    assert state(folder) == before


def test_what_was_thrown_away_comes_back_from_the_trash_under_a_free_name(tmp_path: Path) -> None:
    folder = trained(tmp_path, OFTEN)
    resume_run(str(folder.checkpoints / "step-00000016"), tmp_path)
    [aside] = list_set_aside(folder)
    before = state(RunFolder(aside.path))
    trashed = throw_away(folder, aside)
    assert list_set_aside(folder) == []
    assert [each.name for each in list_trash(tmp_path)] == [f"Steps 17 to 24 of “{folder.status().name}”"]
    aside.path.mkdir(parents=True)  # another stretch of the same steps
    claim(folder.path)
    with pytest.raises(RunBusyError):
        restore_run(trashed)
    release(folder.path)
    restore_run(trashed)
    assert state(RunFolder(aside.path.with_name("steps-17-24-2"))) == before
    assert list_trash(tmp_path) == []


@pytest.mark.parametrize("place", ["../../elsewhere/x", "set_aside/..", "set_aside"])
def test_a_trash_that_names_another_place_restores_nothing(tmp_path: Path, place: str) -> None:
    folder = trained(tmp_path)
    trashed = trash_part(folder, folder.checkpoints / "step-00000016", "Step 16")
    record = json.loads((trashed.path / "part.json").read_text())
    (trashed.path / "part.json").write_text(json.dumps(record | {"place": place}))
    with pytest.raises(InputError, match="names no place inside a run"):
        restore_run(trashed)
    assert len(list_trash(tmp_path)) == 1
