"""The machinery of ``tests.benchmarks.compare``: its sums, its judgment, and two contestants at work. No timing is judged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.compare.jobs import JOBS, Job, scaled
from tests.benchmarks.compare.material import make
from tests.benchmarks.compare.results import disagreements, ratios, summary
from tests.benchmarks.compare.rounds import CONTESTANTS, Failed, Place, in_turn, run_rounds
from tests.benchmarks.compare.table import table
from tests.benchmarks.compare.task import Clock

FACTS: Mapping[str, Any] = {
    "versions": {"torch": "2.15.0"},
    "machine": {
        "processor": "A processor",
        "cores": 2,
        "usable_cores": 2,
        "memory_gb": 24.0,
        "system": "Linux",
        "python": "3.11.7",
    },
}
JOB = Job("lab", "A job", "drawn", {}, {"floor": 1.05, "textbook": 0.60, "peer": 0.55}, loss_tolerance=0.1)


def result(seconds: float, loss: float = 0.5, accuracy: float = 0.9, steps: int = 100) -> dict[str, Any]:
    return {"seconds": seconds, "loss": loss, "accuracy": accuracy, "steps": steps, "load": 0.1}


ROUNDS = [
    {"ours": result(10), "floor": result(8), "textbook": result(20), "fastai": result(40), "accelerate": result(25)},
    {"ours": result(11), "floor": result(11), "textbook": result(22), "fastai": result(10), "accelerate": result(22)},
    {"ours": result(9), "floor": result(9), "textbook": result(30), "fastai": result(36), "accelerate": result(18)},
]


def test_ratios_are_taken_within_a_round_and_their_median_is_judged() -> None:
    found = ratios(JOB, ROUNDS)

    assert found["floor"].values == (1.25, 1.0, 1.0)
    assert found["floor"].median == 1.0
    assert found["floor"].held is True
    assert found["textbook"].values == (0.5, 0.5, 0.3)
    assert found["peer"].against == "accelerate"  # fastest by its median, though fastai once was faster
    assert found["peer"].median == 0.5


def test_a_missed_bar_a_contestant_left_out_and_a_busy_machine_stand_in_the_table() -> None:
    rounds = [{"ours": {**result(12), "load": 3.0}, "textbook": result(10)}]

    text = table([(JOB, rounds, {"floor": "it broke"})], FACTS)

    assert "| lab | not measured | not measured | 1.20 (1.20 to 1.20); bar 0.60: **missed** | not measured |" in text
    assert "floor was left out: it broke" in text
    assert "Load averages before a round were 3.0 to 3.0 on 2 cores." in text


@pytest.mark.parametrize(
    ("cheat", "said"),
    [
        (result(1, loss=0.9), "ours ends with a validation loss of 0.9000, the others with about 0.5000"),
        (result(1, loss=float("nan")), "ours ends with a validation loss of nan"),
        (result(1, accuracy=0.8), "ours ends with an accuracy of 80.00%, the others with about 90.00%"),
        (result(1, steps=50), "ours made 50 steps, the others 100."),
    ],
)
def test_a_contestant_that_does_other_work_is_named(cheat: dict[str, Any], said: str) -> None:
    honest = {"floor": result(8), "textbook": result(20)}
    assert disagreements(JOB, [{**honest, "ours": result(10, loss=0.52)}]) == []

    sentences = disagreements(JOB, [{**honest, "ours": cheat}])

    assert len(sentences) == 1
    assert sentences[0].startswith(said)
    assert "**Not the same work:** ours" in table([(JOB, [{**honest, "ours": cheat}], {})], FACTS)


def test_everybody_comes_first_in_turn() -> None:
    orders = [in_turn(CONTESTANTS, number) for number in range(len(CONTESTANTS))]

    assert {order[0] for order in orders} == set(CONTESTANTS)
    assert all(sorted(order) == sorted(CONTESTANTS) for order in orders)


def test_the_warm_up_is_left_out_of_the_time() -> None:
    moments = iter([0.0, 100.0, 103.0, 107.0])
    clock = Clock(warm_up_epochs=1, now=lambda: next(moments))

    clock.start()
    for _ in range(3):
        clock.validated(0.5, 0.9)

    assert clock.seconds == 7.0


@pytest.mark.slow
def test_contestants_do_the_same_work_and_one_that_fails_is_left_out(tmp_path: Path) -> None:
    job = scaled(JOBS["shapes"], 0.1)
    folder = make(job, tmp_path, tmp_path)
    said: list[str] = []
    kept: list[dict[str, Any]] = []

    run_rounds(
        Place(),
        folder,
        ["floor", "nobody", "textbook"],
        1,
        said.append,
        lambda rounds, left_out: kept.append(summary(job, rounds, left_out)),
    )

    (outcome,) = json.loads(json.dumps(kept))
    assert outcome["left_out"] == {"nobody": "ModuleNotFoundError: No module named " + repr(_MODULE + "nobody")}
    (results,) = outcome["rounds"]
    assert results["floor"]["steps"] == results["textbook"]["steps"] == 16
    assert results["floor"]["seconds"] > 0
    assert results["floor"]["loss"] == pytest.approx(results["textbook"]["loss"], rel=0.25)
    assert any("nobody is left out" in line for line in said)


_MODULE = "tests.benchmarks.compare.contestants."


def test_a_job_without_its_data_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"The job lab needs mnist in .*--data"):
        make(JOBS["lab"], tmp_path, tmp_path)


def test_a_measurement_that_ends_badly_is_told_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"task\.json"):
        Place().measure("floor", tmp_path)
