"""A checkpoint goes to the trash and comes back with its labels; the newest whole one stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from training.cli import main
from training.config import parse_config
from training.errors import InputError, RunBusyError
from training.runs.checkpoint_trash import throw_away_checkpoint
from training.runs.folder import RunFolder, claim, create_run, release
from training.runs.records.forms import BestCheckpoint
from training.runs.records.manifest import (
    BEST,
    FORMAT,
    LAST,
    MANIFEST,
    STATE,
    WEIGHTS,
    best_checkpoint,
    checkpoint_name,
    digest,
    list_checkpoints,
    seal,
    write_labels,
)
from training.runs.trash import list_trash, restore_run


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A run with checkpoints at steps 1, 2 (the best) and 3 (the last)."""
    run = create_run(tmp_path, parse_config({"name": "pets"}))
    for step in (1, 2, 3):
        place = run.checkpoints / checkpoint_name(step)
        place.mkdir()
        for name in (WEIGHTS, STATE):
            (place / name).write_bytes(f"{name} {step}".encode())
        files = {n: {"bytes": (place / n).stat().st_size, "sha256": digest(place / n)} for n in (WEIGHTS, STATE)}
        record: dict[str, Any] = {"format": FORMAT, "step": step, "epoch": 0, "files": files, "config": {}, "data": {}}
        record["data"] = {"fingerprint": ""}
        (place / MANIFEST).write_text(json.dumps(seal(record)), encoding="utf-8")
    write_labels(run, {LAST: checkpoint_name(3), BEST: checkpoint_name(2)})
    return run


def steps(run: RunFolder) -> list[tuple[int, tuple[str, ...]]]:
    return [(info.step, info.labels) for info in list_checkpoints(run)]


def test_a_checkpoint_is_thrown_away_and_comes_back_with_its_label(folder: RunFolder, tmp_path: Path) -> None:
    before = steps(folder)
    assert before == [(3, ("last",)), (2, ("best",)), (1, ())]
    trashed = throw_away_checkpoint(folder, folder.checkpoints / checkpoint_name(2))
    assert steps(folder) == [before[0], before[2]]
    assert [each.name for each in list_trash(tmp_path)] == ["Checkpoint of step 2 of “pets”"]
    restore_run(trashed)
    assert steps(folder) == before
    assert best_checkpoint(folder) == checkpoint_name(2)
    assert not list_trash(tmp_path)


def test_show_names_no_folder_of_a_best_checkpoint_that_lies_in_the_trash(
    folder: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    place = folder.checkpoints / checkpoint_name(2)
    best = BestCheckpoint(metric="val/loss", value=0.5, step=2, checkpoint=str(place))
    folder.write_status(folder.status().model_copy(update={"best": best}))
    deleted = f"checkpoint {place.name}  deleted  [best]"

    def show(*more: str) -> str:
        assert main(["show", str(folder.path), *more]) == 0
        return capsys.readouterr().out

    trashed = throw_away_checkpoint(folder, place)
    assert deleted in show().splitlines()
    assert json.loads(show("--json"))["best"] == best.model_copy(update={"checkpoint": None}).dump()
    restore_run(trashed)
    assert deleted not in show().splitlines()
    assert json.loads(show("--json"))["best"]["checkpoint"] == str(place)


def test_the_newest_whole_checkpoint_stays_and_a_damaged_one_above_it_may_go(folder: RunFolder) -> None:
    newest, below = (folder.checkpoints / checkpoint_name(step) for step in (3, 2))
    with pytest.raises(InputError, match="Step 3 is the newest checkpoint that is whole"):
        throw_away_checkpoint(folder, newest)
    (newest / WEIGHTS).write_bytes(b"damaged")
    with pytest.raises(InputError, match="Step 2 is the newest checkpoint that is whole"):
        throw_away_checkpoint(folder, below)
    throw_away_checkpoint(folder, newest)
    assert [step for step, _labels in steps(folder)] == [2, 1]


def test_nothing_is_thrown_away_while_a_process_works_on_the_run(folder: RunFolder) -> None:
    claim(folder.path)
    with pytest.raises(RunBusyError):
        throw_away_checkpoint(folder, folder.checkpoints / checkpoint_name(1))
    release(folder.path)
    assert len(steps(folder)) == 3
