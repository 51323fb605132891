"""Data that the next run of the same process finds still there."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.data.conftest import MakeConfig, fill_class, image
from tests.training.data.pairs_of_images import write_pairs
from training.config import RunConfig
from training.data import Data
from training.data import prepared as kept
from training.data.prepared import PreparedData, state_of_files
from training.errors import ConfigError
from training.system.host_memory import HostMemory

CPU = torch.device("cpu")
GIGABYTE = 1 << 30


class Room:
    """A computer with a memory and a clock of its own; its clock is ahead, so that no file was written just now."""

    def __init__(self) -> None:
        self.free = 8 * GIGABYTE
        self.ahead = 60.0
        self.told: list[str] = []
        self.kept = PreparedData(
            lambda: HostMemory(16 * GIGABYTE, self.free, "that this computer has"), lambda: time.time() + self.ahead
        )

    def prepare(self, config: RunConfig) -> tuple[Data, bool]:
        """The data, and whether it is that of the last time."""
        self.told.clear()
        data = self.kept.prepare(config, CPU, lambda text, fraction: self.told.append(text))
        return data, "taking the data of the last run" in self.told


def batches(data: Data) -> list[torch.Tensor]:
    return [batch.inputs for window in data.steps(1) for batch in window]


@pytest.fixture
def images(image_folder: Path, make_config: MakeConfig) -> RunConfig:
    return make_config(
        dataset={"kind": "image_folder", "path": str(image_folder), "rotation": 20.0}, loop={"batch_size": 5}
    )


@pytest.mark.parametrize("mode", ["resident", "streamed"])
def test_the_next_run_gets_the_very_same_samples_also_after_the_first_is_closed(
    images: RunConfig, mode: str, make_config: MakeConfig
) -> None:
    room = Room()
    config = images.model_copy(update={"loader": images.loader.model_copy(update={"mode": mode})})
    first, reused = room.prepare(config)
    assert not reused
    seen = batches(first)
    report = first.report
    first.close()
    again, reused = room.prepare(config)
    assert reused
    assert again.report == report.model_copy(update={"batches": again.report.batches})
    assert again.report.batches.mode == mode
    for one, other in zip(seen, batches(again), strict=True):
        assert torch.equal(one, other)
    # Another seed and another batch size are another run, but the same samples.
    loop = config.loop.model_copy(update={"batch_size": 7})
    other_run, reused = room.prepare(config.model_copy(update={"seed": 9, "loop": loop}))
    assert reused
    assert other_run.plan.batch_size == 7
    assert len(batches(other_run)) != len(seen)
    for data in (again, other_run):
        data.close()
    room.kept.drop()


def test_what_was_done_for_the_first_run_is_not_said_of_the_second(images: RunConfig, tmp_path: Path) -> None:
    cache = {"mode": "streamed", "cache": "on", "cache_folder": str(tmp_path / "cache")}
    config = images.model_copy(update={"loader": images.loader.model_copy(update=cache)})
    time.sleep(0.1)  # files of this very moment are not kept in a cache
    room = Room()
    said = [room.prepare(config)[0].report.batches.reason for _ in range(3)]
    assert said[0].endswith("they were decoded now and are kept in the cache for the next run")
    opening = said[0].removesuffix("they were decoded now and are kept in the cache for the next run")
    assert said[1] == said[2] == opening + "the run before has opened them"
    room.kept.drop()


def test_a_file_that_changed_came_or_went_is_noticed(images: RunConfig, image_folder: Path) -> None:
    room = Room()
    room.prepare(images)
    before = room.prepare(images)[0].source.fingerprint
    file = image_folder / "bear" / "003.png"
    status = file.stat()
    image(77).save(file)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))  # somebody hides it
    data, reused = room.prepare(images)
    assert not reused
    assert data.source.fingerprint != before
    fill_class(image_folder / "crow" / "more", 1)
    data, reused = room.prepare(images)
    assert not reused
    assert data.report.samples["train"] + data.report.samples["validation"] == 37
    file.unlink()
    data, reused = room.prepare(images)
    assert not reused
    assert data.report.samples["train"] + data.report.samples["validation"] == 36
    assert room.prepare(images)[1]


def test_a_path_that_means_another_folder_now_is_another_dataset(
    images: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seed in (("here", 0), ("there", 900)):
        for label in ("a", "b"):
            fill_class(tmp_path / name / "data" / label, 10, seed=seed)
    monkeypatch.setattr(kept, "state_of_files", lambda path, before: 0)  # as like as two folders may look
    config = images.model_copy(update={"dataset": images.dataset.model_copy(update={"path": "data"})})
    room = Room()
    found = []
    for name in ("here", "there"):
        monkeypatch.chdir(tmp_path / name)
        data, reused = room.prepare(config)
        assert not reused
        assert room.prepare(config)[1]
        found.append(data.source.fingerprint)
    assert found[0] != found[1]


def test_files_written_just_now_are_read_again(images: RunConfig) -> None:
    """The clock of a file system ticks slowly: what is written twice within a tick looks the same."""
    room = Room()
    room.ahead = 0.0
    room.prepare(images)
    assert room.kept.size == 0
    assert not room.prepare(images)[1]


def test_another_dataset_or_another_way_of_loading_lets_go_of_the_first(
    images: RunConfig, make_config: MakeConfig
) -> None:
    room = Room()
    spiral = make_config(dataset={"kind": "spiral", "samples": 90})
    room.prepare(images)
    assert room.kept.size == 36 * 16 * 16 * 3
    assert not room.prepare(spiral)[1]
    assert room.kept.size == 90 * 2 * 4
    streamed = spiral.model_copy(update={"loader": spiral.loader.model_copy(update={"mode": "streamed"})})
    assert not room.prepare(streamed)[1]
    assert room.prepare(streamed)[1]
    assert not room.prepare(images)[1]


def test_data_that_cannot_be_used_leaves_nothing_behind(images: RunConfig, make_config: MakeConfig) -> None:
    room = Room()
    room.prepare(images)
    with pytest.raises(Exception, match="leaves none to validate on"):
        room.prepare(make_config(dataset={"kind": "spiral", "samples": 30, "validation_fraction": 0.001}))
    assert room.kept.size == 0


def test_memory_that_others_need_and_time_let_go_of_it(make_config: MakeConfig) -> None:
    room = Room()
    spiral = make_config(dataset={"kind": "spiral", "samples": 90})
    room.prepare(spiral)
    room.kept.rest()
    assert room.prepare(spiral)[1]
    room.free = GIGABYTE
    room.kept.rest()
    assert room.kept.size == 0
    room.free = 8 * GIGABYTE
    room.prepare(spiral)
    room.ahead += 500
    room.kept.rest()
    assert room.prepare(spiral)[1]
    room.ahead += 700
    room.kept.rest()
    assert not room.prepare(spiral)[1]


DROPPED = """
import sys, time
import psutil, torch
from training.config import parse_config
from training.data.prepared import PreparedData, state_of_files
from training.errors import ConfigError
from training.data.source import silent
from training.system.process import tune_process

tune_process()
kept = PreparedData(clock=lambda: time.time() + 60)
folder = sys.argv[1]
config = parse_config({"dataset": {"kind": "image_folder", "path": folder, "image_size": 512}, "loader": {"cache": "off"}})
with kept.prepare(config, torch.device("cpu"), silent):
    pass
held = psutil.Process().memory_info().rss
kept.drop()
print(held - psutil.Process().memory_info().rss)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only glibc is told to keep what is freed")
def test_what_is_let_go_of_is_given_back_to_the_system(image_folder: Path) -> None:
    probe = subprocess.run(
        [sys.executable, "-c", DROPPED, str(image_folder)], timeout=120, check=True, capture_output=True, text=True
    )
    assert int(probe.stdout) > 0.9 * 36 * 512 * 512 * 3


def test_a_single_file_that_is_written_again_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("a,b\n1,2\n")
    later = time.time() + 10
    state = state_of_files(str(file), later)
    assert state is not None
    assert state == state_of_files(str(file), later)
    assert state_of_files(str(file), time.time() - 100) is None  # just written
    file.write_text("a,b\n1,3,\n")
    assert state_of_files(str(file), later) not in (None, state)
    file.unlink()
    assert state_of_files(str(file), later) is None


def test_a_changed_validation_text_is_noticed(tmp_path: Path) -> None:
    texts = [tmp_path / name for name in ("train.txt", "validation.txt")]
    for path in texts:
        path.write_text("all the words of a text that is long enough " * 20)
    config = RunConfig.model_validate(
        {
            "dataset": {
                "kind": "text",
                "path": str(texts[0]),
                "validation_path": str(texts[1]),
                "context": 16,
            },
            "model": {"kind": "gpt"},
            "objective": {"kind": "language_model"},
        }
    )
    room = Room()
    first, _ = room.prepare(config)
    _, reused = room.prepare(config)
    assert reused
    texts[1].write_text("other words of a text that is long enough " * 20)
    changed, reused = room.prepare(config)
    assert not reused
    assert changed.source.fingerprint != first.source.fingerprint


@pytest.mark.parametrize("kind", ["table", "masks"])
def test_images_and_masks_are_looked_at_wherever_they_lie(tmp_path: Path, make_config: MakeConfig, kind: str) -> None:
    """Also those beside a table that names no folder, and masks as well as images."""
    sections: dict[str, Any] = {}
    changed = tmp_path / "03.png"
    if kind == "table":
        for number in range(10):
            image(number).save(tmp_path / f"{number:02}.png")
        rows = [f"{number:02}.png,{'ab'[number % 2]}" for number in range(10)]
        (tmp_path / "table.csv").write_text("\n".join(["file,kind", *rows]))
        sections["dataset"] = {"kind": "image_table", "path": str(tmp_path / "table.csv"), "targets": ["kind"]}
    else:
        sections["dataset"] = {"kind": "segmentation", "path": str(write_pairs(tmp_path / "pairs"))}
        sections |= {"model": {"kind": "unet"}, "objective": {"kind": "segmentation"}}
        changed = tmp_path / "pairs" / "train" / "masks" / "003.png"
    config, room = make_config(**sections), Room()
    room.prepare(config)
    assert room.prepare(config)[1]
    changed.write_bytes(changed.with_stem(changed.stem.replace("3", "4")).read_bytes())
    assert not room.prepare(config)[1]


def test_another_task_is_refused_over_data_that_is_there_already(tmp_path: Path) -> None:
    """What the target is, only the table tells: the next run's objective is compared with that, too."""
    path = tmp_path / "table.csv"
    path.write_text("a,kind\n" + "\n".join(f"{n},{'xy'[n % 2]}" for n in range(20)) + "\n", encoding="utf-8")
    data = {"dataset": {"kind": "table", "path": str(path)}, "model": {"kind": "mlp"}}
    room = Room()
    room.prepare(RunConfig.model_validate(data))[0].close()
    other = RunConfig.model_validate({**data, "objective": {"kind": "regression"}})
    with pytest.raises(ConfigError, match=r"regression needs numbers .* or set dataset.task to values if"):
        room.prepare(other)
    assert room.prepare(RunConfig.model_validate(data))[1]
