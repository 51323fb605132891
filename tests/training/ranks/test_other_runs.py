"""Several processes for what is no new run and no plain resume: branches, changed settings, runs of the queue."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.training.ranks.conftest import Ranks, finish, start
from training.queue.store import Queue
from training.runs.folder import RunFolder
from training.runs.records.ranks import read_ranks
from training.runs.records.series import read_series

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="torch's launcher does not work on Windows")

SHORT = ("loop.max_steps=10", "loop.epochs=2", "loop.accumulation=1")


def resume(ranks: Ranks, record: dict[str, Any], *words: str) -> dict[str, Any]:
    return finish(start(ranks.command("resume", record["folder"], "--trust", "--json", *words)))


def count_ranks(record: dict[str, Any]) -> int:
    told = read_ranks(Path(record["folder"]))
    return len(told.ranks) if told is not None else 1


@pytest.mark.slow
def test_a_branch_is_trained_by_several_as_by_one(ranks: Ranks) -> None:
    parent = ranks.run(1, *SHORT, "checkpoints.every_steps=4")
    words = ("--branch", "--set", "loop.max_steps=14")
    alone, both = resume(ranks, parent, *words), resume(ranks, parent, *words, "--ranks", "2")
    assert (alone["code"], both["code"]) == (0, 0), both["said"]
    assert (count_ranks(alone), count_ranks(both)) == (1, 2)
    assert len({parent["folder"], alone["folder"], both["folder"]}) == 3
    losses = [read_series(Path(record["folder"]) / "series.bin")["loss"] for record in (alone, both)]
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-5)
    assert len(losses[0]) == 14


@pytest.mark.slow
def test_a_branch_of_a_run_without_slots_has_as_many_as_processes(ranks: Ranks) -> None:
    parent = ranks.run(1, *SHORT, "loop.slots=1")
    refused = resume(ranks, parent, "--ranks", "2")
    assert refused["code"] == 2
    assert "1 slot cannot be shared out among 2 processes" in refused["said"]
    refused = resume(ranks, parent, "--branch", "--ranks", "2", "--set", "precision.compile=step")
    assert refused["code"] == 2
    assert "precision.compile: batches that are cut into slots" in refused["said"]
    branch = resume(ranks, parent, "--set", "loop.max_steps=14", "--ranks", "2")
    assert branch["code"] == 0, branch["said"]
    assert "loop.slots = 2: a batch of 48 = 2 x 24 samples" in branch["said"]
    assert RunFolder(Path(branch["folder"])).config().loop.slots == 2
    origin = RunFolder(Path(branch["folder"])).status().parent
    assert origin is not None
    assert origin.run == parent["run"]
    assert count_ranks(branch) == 2


@pytest.mark.slow
def test_a_run_of_the_queue_keeps_its_number_of_processes(ranks: Ranks) -> None:
    sets = [word for setting in (*SHORT, "loop.slots=1") for word in ("--set", setting)]
    added = finish(start(ranks.command("queue", "add", str(ranks.config), "--trust", "--json", "--ranks", "2", *sets)))
    assert (added["code"], added["ranks"]) == (0, 2), added["said"]
    assert "loop.slots = 2" in added["said"]
    worked = finish(start(ranks.command("queue", "work")))
    assert worked["code"] == 0, worked["said"]
    (entry,) = Queue(ranks.workspace).read().entries
    assert entry.state == "done", entry.reason
    assert count_ranks({"folder": str(ranks.workspace / "runs" / entry.run)}) == 2
    listed = start(ranks.command("queue", "list", "--json")).communicate(timeout=60)[0]
    assert json.loads(listed)["entries"][0]["ranks"] == 2
