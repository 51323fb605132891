"""Data files that vanish or change while a run reads them: the run ends with the file's name, and resumes to the bit."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.reliability.test_workers import outcome
from tests.training.data.conftest import fill_class
from tests.training.tiny import tiny
from training.config import RunConfig
from training.engine.runs.run import Hooks, resume_run, start_run
from training.errors import InputError
from training.events import EpochEnded, Event, Failed
from training.runs.folder import RunFolder
from training.runs.records.history import read_history

PICTURE = "apple/007.png"
Harm = Callable[[Path], object]


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("originals")
    for number, name in enumerate(("apple", "bear")):
        fill_class(folder / name, 24, seed=100 * number)
    return folder


@pytest.fixture(scope="module")
def unbroken(originals: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the run comes to when nobody touches its files."""
    record = start_run(config(originals, "resident", 0), tmp_path_factory.mktemp("unbroken"))
    return outcome(RunFolder(Path(record.folder)))


def config(data: Path, mode: str, workers: int) -> RunConfig:
    return tiny(
        f'dataset={{kind="image_folder", path="{data}", flip=true}}',
        'model={kind="small_cnn", channels=[4, 4], hidden=8, dropout=0.2}',
        "loop.batch_size=5",
        f"loader.mode={mode}",
        f"loader.workers={workers}",
    )


def repaint(file: Path) -> None:
    """Another image of the same size under the same name, with the same time: only its content tells."""
    before = file.stat()
    Image.new("RGB", (16, 16), "red").save(file)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def cut(file: Path) -> None:
    os.truncate(file, 100)


CASES = [(Path.unlink, 0), (cut, 0), (repaint, 0), pytest.param(repaint, 1, marks=pytest.mark.slow)]


@pytest.mark.parametrize(("harm", "workers"), CASES)
def test_the_file_is_named_and_once_it_is_back_the_run_goes_on(
    originals: Path, unbroken: Any, tmp_path: Path, harm: Harm, workers: int
) -> None:
    data = tmp_path / "images"
    shutil.copytree(originals, data)

    def watch(event: Event) -> None:
        if isinstance(event, EpochEnded) and event.epoch == 2:
            harm(data / PICTURE)

    record = start_run(config(data, "streamed", workers), tmp_path / "work", Hooks(watch=watch))
    folder = RunFolder(Path(record.folder))
    assert record.status == "failed"
    final = read_history(folder.events_file).final
    assert isinstance(final, Failed)
    assert PICTURE in final.reason
    assert "Put the file back" in final.advice
    assert "resume" in final.advice

    with pytest.raises(InputError, match=r"dataset is not the one|no file|damaged|cut off"):
        resume_run(folder.id, tmp_path / "work")
    assert folder.status().status == "failed"

    (data / PICTURE).unlink(missing_ok=True)
    shutil.copy2(originals / PICTURE, data / PICTURE)
    assert resume_run(folder.id, tmp_path / "work").status == "completed"
    assert outcome(folder) == unbroken
