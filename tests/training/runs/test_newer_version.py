"""Files that a newer version wrote: each says so, and what to do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.training.tiny import tiny
from training.errors import InputError
from training.queue.store import FILE, Queue
from training.runs.folder import RunFolder, create_run
from training.studies.folder import PLAN, StudyFolder
from training.sweeps.folder import read_sweep


def read_queue(folder: Path) -> object:
    (folder / "queue").mkdir()
    (folder / "queue" / FILE).write_text(json.dumps({"format": 2}), encoding="utf-8")
    return Queue(folder).read()


def read_study(folder: Path) -> object:
    (folder / PLAN).write_text(json.dumps({"format": 2}), encoding="utf-8")
    return StudyFolder(folder).plan()


def read_a_sweep(folder: Path) -> object:
    (folder / "sweep.json").write_text(json.dumps({"format": 2}), encoding="utf-8")
    return read_sweep(folder)


@pytest.mark.parametrize("read", [read_queue, read_study, read_a_sweep])
def test_its_files_say_so(tmp_path: Path, read: Callable[[Path], object]) -> None:
    with pytest.raises(InputError, match="was written by a newer Trainwright, in format 2; this one reads 1") as told:
        read(tmp_path)
    assert told.value.advice == "Update Trainwright."


def test_a_run_whose_settings_are_unknown_says_who_made_it(tmp_path: Path) -> None:
    run = create_run(tmp_path, tiny())
    text = run.config_file.read_text(encoding="utf-8")
    run.config_file.write_text(text.replace("[optimizer]", "[optimizer]\nshampoo = true"), encoding="utf-8")
    with pytest.raises(InputError, match=r"optimizer\.shampoo") as told:
        run.config()
    assert "was made by" not in str(told.value)
    run.environment_file.write_text(json.dumps({"trainwright": "9.1.0"}), encoding="utf-8")
    with pytest.raises(InputError, match=r"config\.toml: was made by Trainwright 9\.1\.0.*optimizer\.shampoo.*Update"):
        run.config()
    assert RunFolder(run.path).readable_config() is None
