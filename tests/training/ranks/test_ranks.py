"""A run that several processes share: the same samples, the same numbers, one curve, and no process left behind."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from tests.training.ranks.conftest import NETWORK, Ranks, digest, find_processes, finish, start
from training.control import LEFT_ALONE, Command, send
from training.runs.folder import RunFolder
from training.runs.records.history import read_history
from training.runs.records.ranks import rank_folder, read_ranks
from training.runs.records.series import read_series

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="torch's launcher does not work on Windows")

SHORT = ("loop.max_steps=6", "loop.epochs=2", "loop.accumulation=1")


def losses(record: dict[str, Any]) -> np.ndarray[Any, Any]:
    return read_series(Path(record["folder"]) / "series.bin")["loss"].astype(np.float64)


def samples(log: Path) -> set[str]:
    """The digests of all samples that were trained on, each augmented in its own way, and of the example that each process tries the
    network with."""
    return {line for path in log.parent.glob(f"{log.name}.*") for line in path.read_text().splitlines()}


@pytest.mark.slow
def test_two_processes_train_what_one_trains(make_ranks: Callable[[], Ranks], tmp_path: Path) -> None:
    alone = make_ranks().run(1, *SHORT, f"model.arguments.log={tmp_path / 'alone'}")
    both = make_ranks().run(2, *SHORT, f"model.arguments.log={tmp_path / 'both'}")
    assert (alone["code"], both["code"]) == (0, 0), both["said"]
    assert samples(tmp_path / "both") == samples(tmp_path / "alone")
    assert len(samples(tmp_path / "both")) > 6 * 48
    np.testing.assert_allclose(losses(both), losses(alone), rtol=1e-5)
    assert both["metrics"]["val/loss"] == pytest.approx(alone["metrics"]["val/loss"], rel=1e-5)
    record = read_ranks(Path(both["folder"]))
    assert record is not None
    assert [each.rank for each in record.ranks] == [0, 1]
    assert record.slots == 12
    assert len(read_series(rank_folder(Path(both["folder"]), 1) / "series.bin")) == 6
    assert "torch.distributed" not in both["said"]
    assert "timed" not in both["said"], "a short run is not worth it"


@pytest.mark.server  # many minutes
@pytest.mark.timeout(900)
def test_any_number_of_processes_killed_or_not(make_ranks: Callable[[], Ranks], tmp_path: Path) -> None:
    """V = 12: 1, 2, 3 and 4 ranks. A kill costs nothing, to the bit; another number of ranks costs rounding alone."""
    told, seen = {}, {}
    for count in (1, 2, 3, 4):
        log = tmp_path / f"log-{count}"
        uncut = make_ranks().run(count, f"model.arguments.log={log}")
        assert uncut["code"] == 0, uncut["said"]
        told[count], seen[count] = losses(uncut), samples(log)
        cut = make_ranks()
        process = cut.begin(count, "model.arguments.pause=0.01", f"model.arguments.log={tmp_path / 'killed'}")
        if count == 1:
            while not (found := list((cut.workspace / "runs").glob("*/checkpoints/step-*"))):
                time.sleep(0.05)
            folder = found[0].parent.parent
            process.kill()
        else:
            folder = cut.await_step(17)
            find_processes(process, folder)[str(count - 1)].kill()
        finish(process)
        resumed = cut.resume(folder, count)
        assert resumed["code"] == 0, resumed["said"]
        assert digest(resumed) == digest(uncut)
        np.testing.assert_array_equal(losses(resumed), told[count])
    for count in (2, 3, 4):
        assert seen[count] == seen[1]
        np.testing.assert_allclose(told[count], told[1], rtol=1e-5)


@pytest.mark.server  # many minutes
@pytest.mark.timeout(900)
def test_float64_over_500_steps(make_ranks: Callable[[], Ranks]) -> None:
    settings = ("model.arguments.double=true", "loop.max_steps=500", "loop.epochs=1000", "loop.validate_every_steps=25")
    told = {}
    for count in (1, 2, 3, 4):
        record = make_ranks().run(count, *settings)
        assert record["code"] == 0, record["said"]
        events = read_history(Path(record["folder"]) / "events.jsonl").validations
        told[count] = np.array([event.metrics["val/loss"] for event in events])
        assert len(told[count]) >= 20
    for count in (2, 3, 4):
        np.testing.assert_allclose(told[count], told[1], rtol=1e-9)


@pytest.mark.server  # many minutes
@pytest.mark.timeout(900)
def test_a_run_goes_on_in_other_numbers_of_processes(make_ranks: Callable[[], Ranks]) -> None:
    whole = make_ranks().run(1)
    parts = make_ranks()
    process = parts.begin(4, "model.arguments.pause=0.01")
    folder = parts.await_step(10)
    send(folder, Command.STOP)
    assert finish(process)["status"] == "stopped"
    process = start(parts.command("resume", str(folder), "--trust", "--json"))
    step = RunFolder(folder).status().step
    parts.await_step(step + 5)
    process.send_signal(signal.SIGTERM)
    assert finish(process)["code"] == 130
    back = parts.resume(folder, 4)
    assert (back["code"], back["step"]) == (0, 50)
    np.testing.assert_allclose(losses(back), losses(whole), rtol=1e-5)


@pytest.mark.slow
def test_whoever_is_killed_leaves_no_process_and_a_run_that_goes_on(ranks: Ranks) -> None:
    process = ranks.begin(2, "model.arguments.pause=0.01")
    folder = ranks.await_step(12)
    for victim in ("command", "agent", "0", "1"):
        everyone = find_processes(process, folder)
        everyone[victim].kill()
        finish(process)
        _, alive = psutil.wait_procs(list(everyone.values()), timeout=40)
        assert not alive
        record = RunFolder(folder).status()
        assert record.status in ("stopped", "failed", "interrupted")
        if victim == "1":
            assert "Rank 1 of 2" in str(record.reason)
            assert "ended without a word" in str(record.reason)
        if victim in ("command", "agent"):
            assert record.reason == LEFT_ALONE
        made = len(read_series(folder / "series.bin"))
        process = start(ranks.command("resume", str(folder), "--trust", "--json", "--ranks", "2"))
        ranks.await_step(made + 1)  # by the new processes
    assert finish(process)["code"] == 0
    assert read_series(folder / "series.bin")["step"].tolist() == [*range(1, 51)]


@pytest.mark.slow
def test_who_stops_while_the_processes_start_has_no_run_and_no_process(ranks: Ranks) -> None:
    process = ranks.begin(2)
    command = psutil.Process(process.pid)
    while not (started := command.children(recursive=True)):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    record = finish(process)
    assert record["code"] == 130, record["said"]
    assert "Stopped before the run began." in record["said"]
    assert "signal" not in record["said"]
    _, alive = psutil.wait_procs(started, timeout=40)
    assert not alive
    assert not list((ranks.workspace / "runs").glob("*"))


@pytest.mark.slow
def test_requests_are_carried_out_by_all_at_the_same_step(ranks: Ranks) -> None:
    process = ranks.begin(2, "model.arguments.pause=0.01", "loop.max_steps=400", "checkpoints.every_steps=1000")
    folder = ranks.await_step(3)
    send(folder, Command.PAUSE)
    while RunFolder(folder).status().status != "paused":
        time.sleep(0.05)
    for command in (Command.SAVE, Command.VALIDATE):
        send(folder, command)
    while not list(folder.glob("checkpoints/step-*/manifest.json")):
        time.sleep(0.05)
    paused = RunFolder(folder).status().step
    time.sleep(0.5)
    assert RunFolder(folder).status().step == paused
    send(folder, Command.CONTINUE)
    ranks.await_step(paused + 3)
    process.send_signal(signal.SIGINT)
    record = finish(process)
    assert (record["code"], record["status"]) == (130, "stopped"), record["said"]
    assert record["last_checkpoint"].endswith(f"{record['step']:08d}")
    assert f"Go on with: python -m training resume {folder} --ranks 2" in record["said"]
    assert len(read_series(rank_folder(folder, 1) / "series.bin")) == record["step"]


@pytest.mark.slow
def test_memory_that_runs_out_on_one_rank_makes_all_batches_smaller(ranks: Ranks) -> None:
    stopped = ranks.run(2, *SHORT, "model.arguments.fault=memory")
    assert stopped["code"] == 1
    assert "ran out of memory in step 1 with batches of 48, in rank 1 of 2: " in stopped["reason"]
    assert "8 bytes more were asked for" in stopped["reason"]
    assert stopped["fix"]["loop.batch_size"] == 24, stopped
    record = ranks.run(2, *SHORT, "model.arguments.fault=memory", "loop.on_out_of_memory=smaller_batches")
    assert (record["code"], record["step"]) == (0, 6), record["said"]
    findings = read_history(Path(record["folder"]) / "events.jsonl").findings
    assert any("with batches of 48, in rank 1 of 2; the run goes on" in finding.title for finding in findings)


@pytest.mark.slow
def test_the_first_failing_rank_is_told_in_one_sentence(ranks: Ranks) -> None:
    record = ranks.run(2, "model.arguments.fault=error")
    assert record["code"] == 1
    assert record["reason"].startswith(f"Rank 1 of 2 failed: {NETWORK}, line ")
    assert record["reason"].endswith(": ZeroDivisionError: there is no such share.")
    assert "Traceback" not in record["said"]


@pytest.mark.slow
def test_a_rank_that_fails_before_the_first_step_is_told_once(ranks: Ranks) -> None:
    record = ranks.run(2, "model.arguments.fault=build")
    assert record["code"] == 1
    assert record["said"].count("there is no such layer") == 1, record["said"]
    assert "cut off" not in record["said"]


def test_so_many_processes_as_cannot_share_the_slots_are_refused(ranks: Ranks) -> None:
    refused = ranks.run(5)
    assert refused["code"] == 2
    assert "loop.slots: 12 slots cannot be shared out among 5 processes" in refused["said"]
    assert "1, 2, 3, 4, 6 or 12" in refused["said"]
    assert not list((ranks.workspace / "runs").glob("*"))


@pytest.mark.slow
def test_the_batch_size_stays_that_of_the_whole_step(ranks: Ranks) -> None:
    record = ranks.run(2, *SHORT, "loop.slots=1")
    assert record["code"] == 0, record["said"]
    assert "loop.slots = 2: a batch of 48 = 2 x 24 samples" in record["said"]
    assert RunFolder(Path(record["folder"])).config().loop.slots == 2


def test_a_wrong_configuration_is_told_once(ranks: Ranks) -> None:
    refused = ranks.run(2, "dataset.samples=2")
    assert refused["code"] == 2
    assert refused["said"].count("dataset.samples") == 1, refused["said"]
    assert not list((ranks.workspace / "runs").glob("*"))
