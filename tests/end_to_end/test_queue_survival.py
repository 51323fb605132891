"""The queue over the kill of the window that started it, and over a restart of the machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.training.queue.working import PATIENCE, Person, wait_until
from tests.training.tiny import tiny
from training.config import save_config
from training.engine.runs.run import start_run
from training.queue.store import Queue
from training.queue.workers import worker_of
from training.runs.folder import RunFolder
from training.runs.owner import OWNER_FILE
from training.system.process import birth

PROGRAM = Path(__file__).with_name("queue_window.py")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no SIGKILL"),
]


@pytest.fixture
def person(isolated_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Person:
    save_config(tiny(), tmp_path / "tiny.toml")
    return Person(tmp_path, tmp_path / "tiny.toml", capsys)


@contextmanager
def window(person: Person, what: str) -> Iterator[subprocess.Popen[str]]:
    """A window of that workspace."""
    root = str(PROGRAM.parents[2])
    surroundings = {**os.environ, "PYTHONPATH": root, "TRAINWRIGHT_WORKSPACE": str(person.workspace)}
    with subprocess.Popen(
        [sys.executable, str(PROGRAM), what], stdout=subprocess.PIPE, text=True, env=surroundings
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def kill_all(person: Person) -> None:
    """What works for the queue."""
    owner = worker_of(Queue(person.workspace), "any")
    if owner is not None:
        os.kill(owner.pid, signal.SIGKILL)
        wait_until(lambda: birth(owner.pid) is None)


def test_the_queue_goes_on_when_its_window_is_killed(person: Person) -> None:
    person.adds_network("long", seconds=0.02, epochs=6, held=20)
    person.hold.touch()  # or on a busy machine it would be at its end before the window is killed
    person.adds("next")
    queue = Queue(person.workspace)
    try:
        with window(person, "start") as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "working\n"
            owner = worker_of(queue, "any")
            assert owner is not None
            process.kill()
            process.wait()
        assert worker_of(queue, "any") == owner
        person.hold.unlink()
        wait_until(lambda: person.states == {"next": "done", "long": "done"})
        wait_until(lambda: birth(owner.pid) is None)
    finally:
        kill_all(person)
    for name in ("long", "next"):
        assert RunFolder(Path(person.entry(name)["folder"])).status().status == "completed"
    assert len(person.runs) == 2


def test_after_a_restart_of_the_machine_the_window_asks_and_goes_on_to_the_bit(person: Person) -> None:
    person.adds_network("long", seconds=0.02, epochs=6, held=20)
    person.hold.touch()
    person.adds("next")
    queue = Queue(person.workspace)
    with person.worker() as worker:
        folder = person.waits_for_checkpoint("long")
        owner = worker_of(queue, "any")
        assert owner is not None
        trainer = json.loads((folder / OWNER_FILE).read_text(encoding="utf-8"))["pid"]
        worker.kill()
        worker.wait()
        os.kill(trainer, signal.SIGKILL)
        wait_until(lambda: birth(trainer) is None)
    # The ids of an earlier start of the machine may be those of other processes now.
    earlier = owner.model_copy(update={"machine": f"{owner.host} an earlier start", "pid": os.getpid()})
    (queue.folder / "workers" / "any.json").write_text(earlier.model_dump_json(), encoding="utf-8")
    person.hold.unlink()
    try:
        with window(person, "go-on") as process:
            assert process.stdout is not None
            assert process.stdout.read().split()[-1] == "over"  # to its end: it closes itself then
            assert process.wait(timeout=PATIENCE) == 0
    finally:
        kill_all(person)
    assert person.states == {"next": "done", "long": "done"}
    assert person.entry("long")["run"] == folder.name
    assert len(person.runs) == 2
    whole = start_run(RunFolder(folder).config(), person.folder / "unbroken")
    assert RunFolder(folder).status().metrics == whole.metrics
