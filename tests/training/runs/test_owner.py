"""Who works in a run folder: looked up on this machine, watched on another, never told by a clock."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from training.config import RunConfig
from training.errors import InputError, RunBusyError, TrainingError
from training.runs import owner
from training.runs.folder import RunFolder, create_run, delete_run
from training.runs.owner import OWNER_FILE, Heartbeat, Owner, claim, owner_of, release
from training.system.process import birth, machine

HERE = {"machine": machine(), "host": "here", "since": "2026-01-01 08:00"}
FAR = {"pid": 7, "born": "1", "machine": "server-7 otherwise", "host": "server-7", "since": "2026-01-01 08:00"}


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return create_run(tmp_path, RunConfig(name="My Run"))


def write_claim(run: RunFolder, **record: Any) -> None:
    (run.path / OWNER_FILE).write_text(json.dumps(record))


def test_of_two_processes_that_start_at_once_one_is_told_of_the_other(run: RunFolder) -> None:
    claiming = (
        "import sys; from pathlib import Path; from training.runs import folder, owner; real = owner.refuse_others\n"
        "def slow(run):\n    real(run); print('looked', flush=True); sys.stdin.readline()\n"
        "owner.refuse_others = slow; owner.claim(Path(sys.argv[1])); print('claimed', flush=True)\n"
        "sys.stdin.readline()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", claiming, str(run.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "looked\n"  # it saw nobody, and has not said so yet
        told: list[BaseException | None] = []

        def try_to() -> None:
            try:
                claim(run.path)
                told.append(None)
            except RunBusyError as error:
                told.append(error)

        mine = threading.Thread(target=try_to)
        mine.start()
        mine.join(0.3)
        other.stdin.write("\n")
        other.stdin.flush()
        assert other.stdout.readline() == "claimed\n"
        mine.join(30)
        other.communicate("\n")
    assert str(other.pid) in str(told[0])


def test_a_process_id_used_again_is_no_owner(run: RunFolder) -> None:
    write_claim(run, **HERE, pid=os.getpid(), born="1")
    assert owner_of(run.path) is None
    claim(run.path)
    assert owner_of(run.path) is not None
    release(run.path)
    assert owner_of(run.path) is None


def test_a_process_that_ended_and_was_not_collected_is_no_owner(run: RunFolder) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        write_claim(run, **HERE, pid=other.pid, born=birth(other.pid))
        assert owner_of(run.path) is not None
        other.kill()
        while psutil.Process(other.pid).status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)
        assert owner_of(run.path) is None


def test_a_run_at_work_is_neither_claimed_nor_deleted(run: RunFolder) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        write_claim(run, **HERE, pid=other.pid, born=birth(other.pid))
        for refused in (claim, lambda path: delete_run(RunFolder(path))):
            with pytest.raises(RunBusyError, match=f"process {other.pid} on here since 2026-01-01 08:00"):
                refused(run.path)
        other.communicate(b"\n")
    delete_run(run)
    assert not run.path.exists()


@pytest.fixture
def far_beats(run: RunFolder) -> Iterator[None]:
    """The sign of life of a process on another machine."""
    write_claim(run, **FAR)
    over = threading.Event()

    def beat() -> None:
        moment = 0
        while not over.wait(0.05):
            moment += 1_000_000_000
            os.utime(run.path / OWNER_FILE, ns=(moment, moment))  # that machine's clock stands in 1970

    thread = threading.Thread(target=beat)
    thread.start()
    yield
    over.set()
    thread.join()


@pytest.mark.usefixtures("far_beats")
def test_a_process_of_another_machine_that_shows_life_is_left_alone(run: RunFolder) -> None:
    for refused in (claim, lambda path: delete_run(RunFolder(path))):
        with pytest.raises(RunBusyError, match="process 7 on server-7 since 2026-01-01 08:00; stop it"):
            refused(run.path)
    assert json.loads((run.path / OWNER_FILE).read_text()) == FAR


@pytest.mark.parametrize("clock", [time.time(), 4e9, 1e9], ids=["now", "ahead", "behind"])
def test_what_a_dead_process_of_another_machine_left_behind_is_taken_over(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch, clock: float
) -> None:
    monkeypatch.setattr(owner, "WATCH_SECONDS", 0.3)
    write_claim(run, **FAR)
    os.utime(run.path / OWNER_FILE, (clock, clock))
    claim(run.path)
    assert owner_of(run.path) == Owner.model_validate_json((run.path / OWNER_FILE).read_text())
    release(run.path)


def test_the_owner_shows_life_and_mends_its_claim(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, "BEAT_SECONDS", 0.02)
    path = run.path / OWNER_FILE
    claim(run.path)
    lost: list[TrainingError] = []
    heart = Heartbeat(run.path, lost.append)
    try:
        for damage in (lambda: os.utime(path, (1e9, 1e9)), lambda: path.write_text("{"), path.unlink):
            damage()
            wait_until(lambda: owner_of(run.path) is not None and path.stat().st_mtime > 1e9)
    finally:
        heart.stop()
    assert lost == []
    release(run.path)


@pytest.mark.parametrize("fault", ["gone", "taken over"])
def test_an_owner_that_lost_the_folder_hears_of_it(run: RunFolder, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    monkeypatch.setattr(owner, "BEAT_SECONDS", 0.02)
    claim(run.path)
    lost: list[TrainingError] = []
    heart = Heartbeat(run.path, lost.append)
    try:
        if fault == "gone":
            run.path.rename(run.path.with_name("moved"))
        else:
            write_claim(run, **FAR)
        wait_until(lambda: bool(lost))
    finally:
        heart.stop()
    assert fault in lost[0].message
    release(run.path)
    assert fault == "gone" or json.loads((run.path / OWNER_FILE).read_text()) == FAR
    assert not (fault == "gone" and run.path.exists())


def test_a_folder_without_its_configuration_is_not_claimed(run: RunFolder) -> None:
    run.config_file.unlink()
    with pytest.raises(InputError, match="cannot be written"):
        claim(run.path)
    assert not (run.path / OWNER_FILE).exists()


def wait_until(true: Any) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)
