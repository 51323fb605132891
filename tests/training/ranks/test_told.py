"""What the command line tells of several processes: of a run that they made, and whether they are worth while."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from tests.training.ranks.conftest import Ranks, finish, start

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="torch's launcher does not work on Windows"),
]


def test_show_has_a_row_for_each_rank(make_ranks: Callable[[], Ranks]) -> None:
    ranks = make_ranks()
    made = ranks.run(2, "loop.max_steps=20", "loop.accumulation=1")
    shown = finish(start(ranks.command("show", made["folder"], "--json")))
    assert [rank["rank"] for rank in shown["ranks"]] == [0, 1]
    assert all(rank["samples_per_second"] > 0 and rank["ranks_wait_share"] >= 0 for rank in shown["ranks"])
    text = start(ranks.command("show", made["folder"])).communicate(timeout=100)[0]
    assert "rank 1" in text
    assert "for the others" in text


def test_a_run_of_one_process_has_no_rows(make_ranks: Callable[[], Ranks]) -> None:
    ranks = make_ranks()
    made = ranks.run(1, "loop.max_steps=5", "loop.accumulation=1")
    assert finish(start(ranks.command("show", made["folder"], "--json")))["ranks"] == []


def test_one_process_is_timed_against_two(make_ranks: Callable[[], Ranks]) -> None:
    ranks = make_ranks()
    told = finish(start([*ranks.command("scaling", str(ranks.config), "--trust", "--json", "--ranks", "2")]))
    assert told["code"] in (0, 1), told["said"]
    assert told["one"] > 0
    assert told["all"] > 0
    assert told["factor"] == pytest.approx(told["all"] / told["one"])
    assert told["text"].startswith(f"{told['factor']:.1f} x of one process")
    assert not (ranks.workspace / "runs").exists()


def test_nothing_is_timed_that_cannot_be_shared(make_ranks: Callable[[], Ranks]) -> None:
    ranks = make_ranks()
    told = finish(start(ranks.command("scaling", str(ranks.config), "--trust", "--ranks", "5")))
    assert told["code"] == 2
    assert "12 slots cannot be shared out among 5 processes" in told["said"]
