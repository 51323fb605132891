"""Before a long run of several processes these are timed against one; a short one begins at once."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen

import pytest
from psutil import Error, Process, process_iter, wait_procs

from tests.training.queue.working import wait_until
from tests.training.ranks.conftest import Ranks, finish, start
from tests.training.tiny import tiny
from training.doctor.run_time import estimate_run_time
from training.engine.assemble import assemble
from training.engine.runs.run import Hooks, start_run
from training.engine.session import Session
from training.laboratory.scaling import Scaling
from training.queue.store import Queue
from training.runs.folder import RunFolder
from training.runs.records.history import read_history

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="torch's launcher does not work on Windows")

LONG = ("loop.max_steps=1000000", "loop.epochs=1000000", "checkpoints.every_steps=1000000")


@pytest.mark.slow
def test_a_long_run_tells_what_several_processes_gain(ranks: Ranks) -> None:
    process = ranks.begin(2, *LONG)
    folder = ranks.await_step(3)
    process.send_signal(signal.SIGINT)
    ended = finish(process)
    assert ended["code"] == 130, ended["said"]
    assert "so one process is timed against 2 first; --no-probe leaves that out" in ended["said"]
    assert list((ranks.workspace / "runs").iterdir()) == [folder], "the one that was not begun is gone"
    (found,) = [each for each in read_history(folder / "events.jsonl").findings if each.code == "machine.scaling"]
    assert found.title.startswith("2 processes: ")
    assert f"{found.level}: {found.title}" in ended["said"]
    assert found.evidence["processes"] == 2
    assert RunFolder(folder).config().loop.max_steps == 1_000_000, "it is the run itself, not what was timed"


@pytest.mark.slow
def test_a_long_run_begins_at_once_where_that_is_asked(ranks: Ranks) -> None:
    sets = [word for setting in LONG for word in ("--set", setting)]
    words = ranks.command("run", str(ranks.config), "--trust", "--json", "--ranks", "2", "--no-probe")
    process = start([*words, *sets])
    folder = ranks.await_step(3)
    process.send_signal(signal.SIGINT)
    assert "timed" not in finish(process)["said"]
    assert not [each for each in read_history(folder / "events.jsonl").findings if each.code == "machine.scaling"]


@pytest.mark.slow
def test_who_stops_while_it_is_timed_has_no_run(ranks: Ranks) -> None:
    process = ranks.begin(2, *LONG)
    wait_until(lambda: any("--made" in each.cmdline() for each in Process(process.pid).children()))
    process.send_signal(signal.SIGINT)
    ended = finish(process)
    assert ended["code"] == 130, ended["said"]
    assert "Stopped before the run began." in ended["said"]
    assert not list((ranks.workspace / "runs").iterdir())


def test_the_estimate_counts_all_steps_and_changes_nothing(tmp_path: Path) -> None:
    config = tiny("loop.slots=4", "loop.accumulation=2")
    session = assemble(config, lambda *_: None)
    try:
        estimates = [estimate_run_time(session, count) for count in (1, 2)]
    finally:
        session.data.close()
    assert all(0 < (estimate or 0.0) < 60 for estimate in estimates)

    def look(session: Session) -> None:
        assert estimate_run_time(session, 1)

    looked = start_run(config, tmp_path, Hooks(ready=look))
    plain = start_run(config, tmp_path)
    assert looked.metrics == plain.metrics


@pytest.mark.parametrize(
    ("scaling", "level", "words"),
    [
        (Scaling(4, 100.0, 310.0, on_gpus=True), "info", "3.1 x of one process (310 against 100 samples/s)."),
        (Scaling(4, 100.0, 210.0, on_gpus=True), "warning", "52% of what 4 GPUs could do"),
        (Scaling(4, 100.0, 90.0, on_gpus=False), "info", "0.9 x of one process"),
        (Scaling(4, 100.0, 60.0, on_gpus=False), "warning", "slower than one process that has all cores"),
    ],
)
def test_below_seventy_percent_it_is_a_warning(scaling: Scaling, level: str, words: str) -> None:
    found = scaling.find()
    assert (found.level, found.code) == (level, "machine.scaling")
    assert found.title.startswith("4 processes: ")
    assert words in found.title


@pytest.mark.slow
def test_a_long_run_of_the_queue_is_timed_first(ranks: Ranks, worker: Popen[str]) -> None:
    (made,) = (ranks.workspace / "runs").iterdir()
    await_timing(worker)
    assert RunFolder(made).status().status == "created", "nothing of it has begun, and nobody else may begin it"
    folder = ranks.await_step(3)
    worker.send_signal(signal.SIGINT)
    said = finish(worker)["said"]
    assert folder == made
    assert "Timing one process" in said
    assert "--no-probe" not in said
    (found,) = [each for each in read_history(folder / "events.jsonl").findings if each.code == "machine.scaling"]
    assert found.title.startswith("2 processes: ")
    (attempt,) = read_history(folder / "events.jsonl").attempts
    assert (attempt.step, attempt.checkpoint) == (0, None)
    (entry,) = Queue(ranks.workspace).read().entries
    assert (entry.state, entry.run) == ("waiting", folder.name)


@pytest.mark.slow
@pytest.mark.parametrize("by_hand", [True, False])
def test_a_run_of_the_queue_can_be_stopped_while_it_is_timed(ranks: Ranks, worker: Popen[str], by_hand: bool) -> None:
    await_timing(worker)
    if by_hand:
        assert finish(start(ranks.command("queue", "stop", "1")))["code"] == 0
    else:
        worker.kill()
        worker.communicate()
        assert finish(start(ranks.command("queue", "pause")))["code"] == 0
    commands = [each for each in process_iter() if str(ranks.workspace) in " ".join(command_of(each))]
    wait_procs(commands, timeout=60)
    assert not [each for each in commands if each.is_running()], "nobody goes on without its worker"
    (entry,) = Queue(ranks.workspace).read().entries
    assert entry.state == ("stopped" if by_hand else "at work")
    assert not by_hand or entry.reason == "Stopped by hand before it began."
    (folder,) = (ranks.workspace / "runs").iterdir()
    assert RunFolder(folder).read_status().status == "created"


@pytest.fixture
def worker(ranks: Ranks) -> Iterator[Popen[str]]:
    """A worker of the queue, once it has made the run."""
    sets = [word for setting in LONG for word in ("--set", setting)]
    added = finish(start(ranks.command("queue", "add", str(ranks.config), "--trust", "--ranks", "2", *sets)))
    assert added["code"] == 0, added["said"]
    with start(ranks.command("queue", "work")) as worker:
        wait_until(lambda: any((ranks.workspace / "runs").glob("*/status.json")))
        yield worker
        worker.kill()  # which its run follows


def await_timing(worker: Popen[str]) -> None:
    """Until its run's command has begun another run, which lies elsewhere."""
    below = Process(worker.pid).children
    wait_until(lambda: any("/trainwright-" in "".join(command_of(each)[4:5]) for each in below(recursive=True)))


def command_of(process: Process) -> list[str]:
    try:
        return process.cmdline()
    except Error:
        return []
