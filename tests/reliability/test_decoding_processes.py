"""Processes that decode a folder of images are killed, or their engine is: nothing is lost, and nothing stays behind."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch

from tests.training.data.conftest import fill_class
from training.config.sections.data.dataset import ImageFolderDataset
from training.data.batching.pool import ProcessDied, Question, ask
from training.data.batching.resident import Notice
from training.data.images import decode_many
from training.data.images.decode import Form
from training.data.images.files import Files
from training.data.images.pieces import read_piece
from training.data.source import Opening, Source
from training.data.sources import open_source
from training.errors import TrainingError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks processes up in /proc")


SERVES = "training.data.batching.pool"  # in the command line of each


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """So many pieces of it that the processes are not done before they are killed."""
    monkeypatch.setattr(decode_many, "_FIRST", 2)
    for name in ("a", "b"):
        fill_class(tmp_path / "pictures" / name, 60)
    return tmp_path / "pictures"


def opened(folder: Path, workers: int, told: list[Notice]) -> Source:
    return open_source(
        ImageFolderDataset(path=str(folder)), Opening(keep=lambda size: True, workers=workers, tell=told.append)
    )


def processes() -> list[psutil.Process]:
    return [process for process in psutil.Process().children() if SERVES in " ".join(process.cmdline())]


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


def test_processes_load_no_torch(folder: Path) -> None:
    files = Files(folder, ["a/000.png"])
    questions: list[Question[Any]] = [
        partial(read_piece, files, Form(8, 8, 3, fit=True), True),
        partial(eval, "__import__('os').getpid(), sorted(__import__('sys').modules)"),
    ]
    piece, (process, modules) = ask(questions, 1, 2, lambda: None)
    assert piece.reasons == [""]
    assert process != os.getpid()
    assert "PIL.Image" in modules
    assert not {"torch", "pandas", "polars", "multiprocessing.resource_tracker"} & set(modules)


def test_what_a_question_raises_is_raised_where_it_was_asked() -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        list(ask([partial(divmod, 1, 0)], 1, 1, lambda: None))


def test_a_question_that_ends_its_process_is_asked_three_times() -> None:
    replaced: list[None] = []
    questions: list[Question[Any]] = [partial(abs, -1), partial(os._exit, 3), partial(abs, -2)]
    answers = ask(questions, 1, 3, lambda: replaced.append(None))
    assert next(answers) == 1
    with pytest.raises(ProcessDied, match="exit code 3"):
        next(answers)
    assert replaced == [None]
    assert not processes()


def test_answers_come_in_the_order_of_the_questions_and_arrays_can_be_written_to() -> None:
    sizes = [3 << 20, 0, 5, 1 << 20, 7, 1]
    answers = list(ask([partial(np.full, size, size % 251, np.uint8) for size in sizes], 2, 3, lambda: None))
    assert [len(answer) for answer in answers] == sizes
    for answer, size in zip(answers, sizes, strict=True):
        answer += 1
        assert (answer == size % 251 + 1).all()


def test_an_iterator_that_is_closed_ends_the_processes() -> None:
    answers = ask([partial(abs, -number) for number in range(9)], 2, 6, lambda: None)
    assert next(answers) == 0
    alive = processes()
    assert alive
    answers.close()
    assert not processes()
    assert not any(process.is_running() for process in alive)


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
def test_a_killed_engine_leaves_no_process(folder: Path, tmp_path: Path) -> None:
    script = tmp_path / "decoding.py"
    script.write_text(DECODING)
    with subprocess.Popen([sys.executable, str(script), str(folder)], stdout=subprocess.PIPE) as engine:
        try:
            assert engine.stdout is not None
            assert engine.stdout.readline() == b"at it\n"
            below = psutil.Process(engine.pid).children(recursive=True)
            assert len(below) == 2
            assert not [one.path for process in below for one in process.memory_maps() if "torch" in one.path]
        finally:
            engine.kill()
        assert engine.wait(60) != 0
    _, alive = psutil.wait_procs(below, timeout=60)
    assert not alive
