"""Before a long run of several processes these are timed against one; a short one begins at once."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

import pytest
from psutil import Process

from tests.training.ranks.conftest import Ranks, finish, start
from tests.training.tiny import tiny
from training.doctor.run_time import estimate_run_time
from training.engine.assemble import assemble
from training.engine.runs.run import Hooks, start_run
from training.engine.session import Session
from training.laboratory.scaling import Scaling
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
    deadline = time.monotonic() + 120
    while not any("--made" in each.cmdline() for each in Process(process.pid).children()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
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
