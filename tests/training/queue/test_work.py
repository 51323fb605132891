"""The queue's workers: what they train, and what becomes of it when they, or their machine, end."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.training.queue.working import Person, is_alive, wait_until
from tests.training.tiny import tiny, write_idx
from training.engine.runs.run import start_run
from training.queue.device import fits
from training.queue.making import check_entry, make_run
from training.queue.store import Queue
from training.queue.workers import be_worker, worker_of
from training.runs.folder import RunFolder, claim, create_run, release
from training.runs.owner import OWNER_FILE
from training.runs.records.manifest import seal
from training.system.process import birth


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no SIGKILL")
@pytest.mark.parametrize("reboot", [False, True])
def test_a_run_whose_worker_was_killed_goes_on_with_the_next_to_the_bit(person: Person, reboot: bool) -> None:
    person.adds_network("long", seconds=0.02, epochs=6, held=20)
    person.hold.touch()  # or on a busy machine it would be at its end before it is killed
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
    person.hold.unlink()
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
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [each["step"] > 0 for each in events if each["kind"] == "attempt_started"] == [False, True]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows knows no SIGTERM")
def test_a_started_worker_waits_while_paused_and_keeps_its_run_when_it_is_stopped(person: Person) -> None:
    person.adds_network("long", seconds=0.02, epochs=6, held=20)
    person.hold.touch()
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
        person.hold.unlink()
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


def test_a_worker_of_a_device_takes_what_asks_for_it_and_leaves_the_rest(person: Person) -> None:
    person.adds("elsewhere", "--device", "cuda:1")
    person.types("work", "--device", "cpu")
    assert person.states == {"elsewhere": "waiting"}
    queue = Queue(person.workspace)
    with be_worker(queue, "cuda:0"):
        assert "one is enough" in person.types("work", code=2)
        person.types("work", "--device", "cpu")
    assert person.sees()["workers"] == []


@pytest.mark.slow
def test_what_the_engine_refuses_is_passed_over_and_leaves_no_run(person: Person) -> None:
    person.adds("nowhere", "--device", "cuda:77")
    person.types("work")
    assert person.entry("nowhere")["state"] == "passed over"
    assert "precision.device: " in person.entry("nowhere")["reason"]
    assert person.entry("nowhere")["run"] is None
    assert person.runs == []


def test_a_run_that_somebody_trains_by_hand_is_waited_for(person: Person) -> None:
    person.adds("next")
    run = create_run(person.workspace, tiny())
    claim(run.path)
    with be_worker(Queue(person.workspace), "any"):
        assert run.id in person.sees()["hint"]
        release(run.path)
        assert person.sees()["hint"] is None


@pytest.mark.parametrize(
    ("asked", "began_on", "waits"),
    [("cpu", {}, True), ("cuda:1", {}, False), ("auto", {}, True), ("auto", {"device_type": "cpu"}, True),
     ("auto", {"device_type": "cuda", "device_index": 0}, False)],
)  # fmt: skip
def test_a_worker_of_a_device_waits_for_what_is_trained_there(
    person: Person, asked: str, began_on: dict[str, JsonValue], waits: bool
) -> None:
    person.adds("next")
    run = create_run(person.workspace, tiny(f"precision.device={asked}"))
    run.environment_file.write_text(json.dumps(seal(began_on)), encoding="utf-8")
    claim(run.path)
    queue = Queue(person.workspace)
    with be_worker(queue, "cpu"):
        assert (person.sees()["hint"] is not None) == waits
    queue.note("1", run=run.id)
    assert fits(queue, queue.read().find("1"), "cpu") == waits  # were it the entry's own, that is where it goes on


def test_what_a_killed_worker_had_begun_to_make_is_made_anew(person: Person) -> None:
    person.adds("one")
    queue = Queue(person.workspace)
    half = person.workspace / "runs" / "half"
    half.mkdir(parents=True)
    queue.note("1", state="at work", worker="any", run="half")
    assert person.states == {"one": "interrupted"}
    entry = queue.read().find("1")
    run = make_run(queue, entry, check_entry(queue, entry, "any"), lambda key: queue.note("1", run=key))
    assert person.runs == [run.id] == [queue.read().find("1").run]


def test_an_empty_queue_is_done_at_once_though_it_is_paused(person: Person) -> None:
    person.types("pause")
    person.types("work")
    assert "Nothing waits" in person.types("start")


def model_of(checkpoint: str | None) -> bytes:
    assert checkpoint is not None
    return (Path(checkpoint) / "model.safetensors").read_bytes()
