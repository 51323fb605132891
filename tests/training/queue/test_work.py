"""The queue's workers: what they train, and what becomes of it when they, or their machine, end."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.training.queue.working import Person, is_alive, wait_until
from tests.training.tiny import write_idx
from training.engine.runs.run import start_run
from training.queue.store import Queue
from training.queue.workers import worker_of
from training.runs.folder import RunFolder
from training.runs.owner import OWNER_FILE
from training.system.process import birth


def test_the_queue_is_worked_off_past_a_run_that_fails_and_data_that_was_moved_away(person: Person) -> None:
    write_idx(person.folder / "data")
    data = (
        "--set",
        "dataset.kind=idx",
        "--set",
        f"dataset.path={person.folder / 'data'}",
        "--set",
        "model.kind=small_cnn",
    )
    person.adds_network("fails", most=10)
    person.adds("moved", *data)
    kept = person.adds_network("last")
    kept.write_text("raise SystemExit('not what was agreed to')\n", encoding="utf-8")
    (person.folder / "data").rename(person.folder / "elsewhere")
    said = person.types("work")
    assert person.states == {"last": "done", "moved": "passed over", "fails": "failed"}
    assert "enough of it" in person.entry("fails")["reason"]
    assert "dataset.path" in person.entry("moved")["reason"]
    assert "[2] moved: passed over; " in said
    assert person.runs == sorted([person.entry("fails")["run"], person.entry("last")["run"]])
    assert "done" in person.types("retry", "3", code=2)

    (person.folder / "elsewhere").rename(person.folder / "data")
    person.types("retry", "2")
    assert person.states == {"moved": "waiting", "last": "done", "fails": "failed"}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no SIGKILL")
@pytest.mark.parametrize("reboot", [False, True])
def test_a_run_whose_worker_was_killed_goes_on_with_the_next_to_the_bit(person: Person, reboot: bool) -> None:
    person.adds_network("long", seconds=0.02, epochs=6)
    queue = Queue(person.workspace)
    with person.worker() as worker:
        folder = person.waits_for_checkpoint("long")
        assert person.entry("long")["state"] == "at work"
        assert f"process {worker.pid}" in person.types("work", code=2)
        assert "is at work" in person.types("remove", "1", code=2)
        owner = worker_of(queue, "any")
        assert owner is not None
        trainer = json.loads((folder / OWNER_FILE).read_text(encoding="utf-8"))["pid"]
        worker.kill()
        worker.wait()
        if reboot:
            os.kill(trainer, signal.SIGKILL)
    if reboot:  # of a process of an earlier start of the machine, and of an id that is another process's now
        wait_until(lambda: birth(trainer) is None)
        earlier = owner.model_copy(update={"machine": f"{owner.host} an earlier start", "pid": os.getpid()})
        (queue.folder / "workers" / "any.json").write_text(earlier.model_dump_json(), encoding="utf-8")
    assert person.states == {"long": "interrupted"}
    assert person.entry("long")["run"] == folder.name
    person.types("work")
    assert person.states == {"long": "done"}
    assert person.runs == [folder.name]
    resumed = RunFolder(folder).status()
    whole = start_run(RunFolder(folder).config(), person.folder / "unbroken")
    assert resumed.metrics == whole.metrics
    assert model_of(resumed.last_checkpoint) == model_of(whole.last_checkpoint)
    assert "resumed" in (folder / "events.jsonl").read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no SIGTERM")
def test_a_started_worker_waits_while_paused_and_keeps_its_run_when_it_is_stopped(person: Person) -> None:
    person.adds_network("long", seconds=0.02, epochs=6)
    person.adds("next")
    person.types("pause")
    person.types("start")
    pid = person.sees()["workers"][0]["pid"]
    try:
        assert os.getsid(pid) == pid  # neither this terminal's end nor its Ctrl+C is for it
        assert "paused" in person.sees()["hint"]
        assert "one is enough" in person.types("start", code=2)
        assert person.states == {"long": "waiting", "next": "waiting"}
        person.types("go")
        folder = person.waits_for_checkpoint("long")
        person.types("stop")
        wait_until(lambda: birth(pid) is None)
    finally:
        if is_alive(pid):
            os.kill(pid, signal.SIGKILL)
    assert person.states == {"long": "waiting", "next": "waiting"}
    assert "goes on from there" in person.entry("long")["reason"]
    assert RunFolder(folder).status().status == "stopped"
    person.types("work")
    assert person.states == {"next": "done", "long": "done"}
    assert len(person.runs) == 2
    assert person.entry("long")["run"] == folder.name


def test_an_empty_queue_is_done_at_once_though_it_is_paused(person: Person) -> None:
    person.types("pause")
    person.types("work")
    assert "Nothing waits" in person.types("start")


def model_of(checkpoint: str | None) -> bytes:
    assert checkpoint is not None
    return (Path(checkpoint) / "model.safetensors").read_bytes()
