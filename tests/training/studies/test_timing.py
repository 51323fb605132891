"""Runs that stand still between two turns, and what their record says of how fast they train."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.training.tiny import tiny
from training.config.files import config_data
from training.errors import TrainingError
from training.runs.index.workspace_database import VARIABLE
from training.studies import timing
from training.studies.worker import SCRATCH


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the runs work; whatever is open is closed with the test."""
    monkeypatch.setenv(SCRATCH, str(tmp_path))
    yield tmp_path
    timing.close_steps("A")


def open_tiny(*overrides: str) -> dict[str, Any]:
    return timing.open_steps("A", dict(config_data(tiny(*overrides))))


def test_a_run_trains_in_its_turns_alone_and_goes_on_behind_its_end(
    scratch: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = tmp_path_factory.mktemp("team") / "index.sqlite"
    monkeypatch.setenv(VARIABLE, f"sqlite:///{index}")
    assert len(open_tiny("loop.epochs=1", "schedule.kind=polynomial")["losses"]) == timing.FIRST_STEPS
    (folder,) = scratch.glob("*/runs/*")
    run = timing._OPEN["A"]
    plan = run.session.data.plan
    told = []
    while run.session.progress.step < 3 * plan.steps:
        told.append(timing.time_steps("A", 0.05))
    stood = run.session.progress.step
    for turn in told:
        assert turn["steps"] >= 2
        assert turn["seconds"] >= 0.05
        assert turn["samples"] == pytest.approx(turn["steps"] * plan.n / plan.steps, abs=plan.samples_per_step)
    assert stood >= sum(turn["steps"] for turn in told)
    assert [*(folder / "checkpoints").iterdir()]
    timing.close_steps("A")
    assert run.session.progress.step == stood
    assert not [*scratch.iterdir()]
    assert not index.exists()  # a team's index is spared runs that nobody keeps


def test_a_large_network_is_not_saved(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "LARGEST_SAVED", 100)
    open_tiny()
    timing.time_steps("A", 0.1)
    assert not [*scratch.glob("*/runs/*/checkpoints/*")]


def test_steps_that_are_no_numbers_are_timed_all_the_same(scratch: Path) -> None:
    open_tiny(
        "optimizer.kind=sgd",
        "optimizer.lr=100.0",
        "optimizer.momentum=0.99",
        "model.activation=relu",
        "model.hidden=[64,64,64,64]",
        "loop.clip_norm=none",
        "loop.max_skipped_steps=2",
    )
    assert timing.time_steps("A", 0.3)["steps"] >= 2


def test_a_run_that_fails_says_so_instead_of_a_speed(scratch: Path) -> None:
    open_tiny()

    def run_out(*_: object) -> None:
        raise MemoryError

    timing._OPEN["A"].session.compiled = run_out  # type: ignore[assignment]
    for _ in range(2):
        with pytest.raises(TrainingError, match="ran out of memory in step"):
            timing.time_steps("A", 0.3)
