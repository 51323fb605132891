"""Processes that decode a folder of images are killed, or their engine is: nothing is lost, and nothing stays behind."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
import torch
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

from tests.training.data.conftest import fill_class
from training.config.sections.data.dataset import ImageFolderDataset
from training.data.batching.resident import Notice
from training.data.images import decode_many
from training.data.source import Opening, Source
from training.data.sources import open_source
from training.errors import TrainingError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kills the fork server's children")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """So many pieces of it that the processes are not done before they are killed."""
    monkeypatch.setattr(decode_many, "_FIRST", 2)
    monkeypatch.setattr(_MultiProcessingDataLoaderIter._try_get_data, "__defaults__", (0.1,))  # torch looks every 5 s
    for name in ("a", "b"):
        fill_class(tmp_path / "pictures" / name, 60)
    return tmp_path / "pictures"


def opened(folder: Path, workers: int, told: list[Notice]) -> Source:
    return open_source(
        ImageFolderDataset(path=str(folder)), Opening(keep=lambda size: True, workers=workers, tell=told.append)
    )


def processes() -> list[psutil.Process]:
    mine = psutil.Process()
    return [process for process in mine.children(recursive=True) if process.ppid() != mine.pid]


@contextmanager
def killing(told: list[Notice] | None = None) -> Iterator[None]:
    """Kill the processes as soon as they are there, until something is ``told`` or the block is left."""
    done = threading.Event()

    def kill() -> None:
        while not told and not done.is_set():
            with suppress(psutil.NoSuchProcess):
                for victim in processes():
                    victim.kill()
            time.sleep(0.001)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield
    finally:
        done.set()
        killer.join()


def test_killed_ones_are_replaced_and_no_image_is_lost(folder: Path) -> None:
    told: list[Notice] = []
    alone = opened(folder, 0, [])
    with killing(told):
        source = opened(folder, 2, told)
    assert source.fingerprint == alone.fingerprint
    assert torch.equal(source.read(torch.arange(120)), alone.read(torch.arange(120)))
    assert ["no image was lost" in notice.title for notice in told] == [True]


def test_processes_that_always_die_are_said_in_one_sentence(folder: Path) -> None:
    with (
        killing(),
        pytest.raises(TrainingError, match=r"decodes images ended unexpectedly.*loader\.workers = 0") as caught,
    ):
        opened(folder, 2, [])
    assert caught.value.fix == {"loader.workers": 0}


DECODING = """
import sys, time
from training.config.sections.data.dataset import ImageFolderDataset
from training.data.images import decode_many
from training.data.source import Opening
from training.data.sources import open_source

def wait(text, fraction):
    if text.startswith("decoding") and fraction > 0.1:
        print("at it", flush=True)
        time.sleep(60)

if __name__ == "__main__":
    decode_many._FIRST = 2
    open_source(ImageFolderDataset(path=sys.argv[1]), Opening(keep=lambda size: True, workers=2, report_progress=wait))
"""


@pytest.mark.slow
def test_a_killed_engine_leaves_no_process_and_no_shared_memory(folder: Path, tmp_path: Path) -> None:
    script = tmp_path / "decoding.py"
    script.write_text(DECODING)
    with subprocess.Popen([sys.executable, str(script), str(folder)], stdout=subprocess.PIPE) as engine:
        try:
            assert engine.stdout is not None
            assert engine.stdout.readline() == b"at it\n"
            below = psutil.Process(engine.pid).children(recursive=True)
            shared = [process for process in below if any("/dev/shm" in one.path for one in process.memory_maps())]
            assert len(below) >= 3  # the fork server and two processes, at least
            assert shared
        finally:
            engine.kill()
        assert engine.wait(60) != 0
    _, alive = psutil.wait_procs(below, timeout=60)
    assert not alive
    ids = [engine.pid, *(process.pid for process in below)]
    assert not [path for path in Path("/dev/shm").iterdir() if path.name.startswith(tuple(f"torch_{i}_" for i in ids))]
