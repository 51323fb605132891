"""The queue's workers: what they train, and what becomes of it when they, or their machine, end."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from pydantic import JsonValue

from tests.training.queue.working import PATIENCE, Person, is_alive, wait_until
from tests.training.tiny import tiny, write_idx
from training.config import load_config
from training.engine.runs.run import start_run, train_made_run
from training.errors import RunBusyError
from training.laboratory import child
from training.laboratory.child import Ended
from training.queue import worker
from training.queue.device import fits
from training.queue.making import check_entry, make_run
from training.queue.store import Queue
from training.queue.workers import be_worker, worker_of
from training.runs.folder import RunFolder, claim, create_run, release
from training.runs.owner import OWNER_FILE, this_process
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
@pytest.mark.skipif(sys.platform == "win32", reason="the engine here is a script of POSIX's shell")
def test_a_run_is_trained_by_the_engine_that_it_was_queued_for(person: Person) -> None:
    person.adds("given")
    assert person.entry("given")["python"] == sys.executable
    engine, used, broken = (person.folder / name for name in ("python", "used", "broken"))
    engine.write_text(f'#!/bin/sh\ntouch "{used}"\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    engine.chmod(0o755)
    queue = Queue(person.workspace)
    queue.remove_all(["1"], lambda _entry: False)
    config = load_config(person.config)
    queue.add(config, python=str(engine))
    queue.add(config, python=str(person.folder / "removed"))
    broken.write_text("", encoding="utf-8")  # which nobody may execute
    queue.add(config, python=str(broken))
    person.types("work")
    ended = [queue.read().find(key) for key in ("2", "3", "4")]
    assert [each.state for each in ended] == ["done", "passed over", "passed over"]
    assert used.exists()
    assert "removed cannot be started (No such file or directory); retry it with another engine." in ended[1].reason
    assert "broken cannot be started (Permission denied)" in ended[2].reason


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
        person.slow.touch()
        person.types("stop")
        person.hold.unlink()
        wait_until(lambda: birth(pid) is None)
        person.slow.unlink()
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


@pytest.mark.slow
def test_one_run_is_stopped_and_kept_and_the_queue_goes_on_with_the_next(person: Person) -> None:
    person.adds_network("long", seconds=0.02, epochs=6, held=20)
    person.hold.touch()
    person.adds("next")
    with person.worker() as process:
        folder = person.waits_for_checkpoint("long")
        assert "its run is kept, and the queue goes on" in person.types("stop", "1")
        assert person.entry("long")["reason"] == "Asked for an end."
        wait_until((folder / "commands.jsonl").exists)  # its worker has passed it on
        person.hold.unlink()
        assert process.wait(timeout=PATIENCE) == 0
    assert person.states == {"next": "done", "long": "stopped"}
    assert person.entry("long")["reason"].startswith("Stopped by hand at step ")
    assert RunFolder(folder).status().status == "stopped"
    person.types("retry", "1")
    person.types("work")
    assert person.states == {"long": "done", "next": "done"}
    assert RunFolder(folder).status().status == "completed"


def test_a_stop_that_its_worker_did_not_live_to_see_is_kept_to_by_the_next(person: Person) -> None:
    person.adds("one")
    queue = Queue(person.workspace)
    with be_worker(queue, "any"):
        run = create_run(person.workspace, tiny())
        queue.note("1", state="at work", worker="any", run=run.id)
        person.types("stop", "1")
    assert person.states == {"one": "interrupted"}
    person.types("work")
    assert person.states == {"one": "stopped"}
    assert not run.events_file.exists()  # nobody began it


@pytest.mark.slow
def test_a_run_that_is_still_in_the_hands_of_a_process_of_a_killed_worker_is_looked_at_again(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next worker's process is refused; by the time that is seen, the other one has let go of the run."""
    person.adds("one")
    refused: list[int] = []

    def train_beside(run: RunFolder, *rest: Any, **options: Any) -> Ended:
        if refused:
            return child.train(run, *rest, **options)
        claim(run.path)  # this process is not its own, and lives
        ended = child.train(run, *rest, **options)
        refused.append(ended.code)
        release(run.path)
        return ended

    monkeypatch.setattr(worker, "train", train_beside)
    person.types("work")
    assert refused == [child.BUSY]
    assert person.states == {"one": "done"}
    assert len(person.runs) == 1


def test_a_run_that_another_process_has_is_never_deleted_though_it_had_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = create_run(tmp_path, tiny())

    def refuse(folder: Path) -> None:
        raise RunBusyError(f"The run {folder.name} is already being trained by a process that has ended since.")

    monkeypatch.setattr("training.engine.runs.run_writer.claim", refuse)
    with pytest.raises(RunBusyError):
        train_made_run(run, tmp_path)
    assert run.config() == tiny()


def test_who_only_looks_is_no_worker_of_an_earlier_start_of_the_machine(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.system.locks._LOOK_SECONDS", float(PATIENCE))
    person.adds("one")
    queue = Queue(person.workspace)
    record = queue.folder / "workers" / "any.json"
    record.parent.mkdir()
    record.write_text(this_process().model_copy(update={"machine": "an earlier start"}).model_dump_json(), "utf-8")
    looks = FileLock(record.with_suffix(".lock"), thread_local=False)
    looks.acquire()
    timer = threading.Timer(0.3, looks.release)
    timer.start()
    assert worker_of(queue, "any") is None
    timer.join()
    assert not record.exists()  # nobody has to ask again
    with be_worker(queue, "any"):
        assert worker_of(queue, "any") == this_process()


@pytest.mark.slow
def test_what_a_worker_that_is_gone_had_waits_first_while_the_next_worker_waits(person: Person) -> None:
    for name in ("one", "two", "next"):
        person.adds(name)
    queue = Queue(person.workspace)
    for key in ("1", "2"):
        queue.note(key, state="at work", worker="any", run=create_run(person.workspace, tiny()).id)
    person.types("pause")
    with person.worker() as process:
        wait_until(lambda: person.states == {"one": "waiting", "two": "waiting", "next": "waiting"})
        assert "paused" in person.sees()["hint"]
        person.types("remove", "3")
        person.types("go")
        assert process.wait(timeout=PATIENCE) == 0
    assert person.states == {"two": "done", "one": "done"}
    assert len(person.runs) == 2


def test_a_configuration_that_became_invalid_is_passed_over_with_the_reason(person: Person) -> None:
    person.adds("one")
    kept = person.workspace / "queue/entries/1/config.toml"
    kept.write_text(f"{kept.read_text(encoding='utf-8')}\n[later]\nkind = 1\n", encoding="utf-8")
    person.types("work")
    assert person.states == {"one": "passed over"}
    assert "later: " in person.entry("one")["reason"]
    assert person.runs == []


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
