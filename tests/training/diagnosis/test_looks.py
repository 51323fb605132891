"""When a run is looked at, and what of what is found is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from tests.training.diagnosis.made_runs import make_run
from training.config.sections.loop import Loop
from training.diagnosis import Diagnosis, Recorded, plan_looks
from training.diagnosis.judges import FOLDED
from training.diagnosis.looks import LOOKS, current
from training.events import Finding, FindingLevel
from training.findings import RULES
from training.findings.curves import DIVERGED
from training.findings.data import IMBALANCE

LARGE = 10**9
"""Weights, beside whose steps a look is nothing."""
RUN = make_run(np.ones(1000))


def find_at(*steps: int, code: str = IMBALANCE.code, level: FindingLevel = "warning") -> Diagnosis:
    def judge(run: Recorded) -> Iterator[Finding]:
        if run.step in steps:
            yield RULES[code].find(level, f"at {run.step}", place="here", since=run.step - 5)

    return Diagnosis([judge], [])


def look(diagnosis: Diagnosis, *steps: int, run: Recorded = RUN) -> list[tuple[int, int | None, int | None]]:
    found = [each for step in steps for each in diagnosis.look(run.until(step))]
    return [(each.step, each.since, each.cleared_at) for each in found]


def test_looks_are_spread_over_the_run_and_lie_at_validations() -> None:
    steps = plan_looks(1000, 30, Loop(), LARGE).steps
    assert len(steps) == LOOKS
    assert steps[:4] == (25, 30, 60, 90), "the first stretch has no validation"
    sparse = plan_looks(10_000, 5_000, Loop(validate_every_steps=700), LARGE).steps
    assert sparse[:6] == (250, 500, 700, 1000, 1250, 1400)
    assert sparse[-1] == 10_000
    assert plan_looks(7, 7, Loop(), LARGE).steps == (7,)
    assert plan_looks(90, 3, Loop(), 0).steps == (21, 45, 66, 90), "in a short run they lie twenty steps apart"


def test_of_a_run_of_quick_steps_every_other_look_is_left_out_unless_something_hangs_on_it() -> None:
    assert not plan_looks(1000, 50, Loop(), LARGE).between
    plan = plan_looks(200, 20, Loop(), 100)
    assert (plan.steps, plan.between) == (tuple(range(20, 220, 20)), frozenset(range(20, 200, 40)))
    diagnosis, looks = find_at(80, 100, 120, 160), []
    for step in plan.steps:
        if diagnosis.needs(step, plan):
            looks.append((step, bool(look(diagnosis, step))))
    assert looks == [(40, False), (80, False), (100, True), (120, False), (160, False), (200, False)]


def test_it_is_told_when_found_twice_in_a_row_and_when_gone_twice() -> None:
    diagnosis = find_at(100, 200, 225, 250, 300)
    assert look(diagnosis, 100, 150, 200, 225, 250) == [(225, 195, None)]  # once more after one look tells nothing
    assert look(diagnosis, 275, 300, 325, 350, 375) == [(350, 195, 325)]


def test_what_gets_worse_is_told_again() -> None:
    def judge(run: Recorded) -> Iterator[Finding]:
        yield IMBALANCE.find("error" if run.step >= 300 else "info", "…")

    diagnosis = Diagnosis([judge], [])
    told = [each for step in (100, 200, 300, 400) for each in diagnosis.look(RUN.until(step))]
    assert [(each.step, each.level, each.since) for each in told] == [(200, "info", 100), (300, "error", 100)]
    assert current(told) == told[1:]


def test_in_warm_up_only_divergence_is_judged() -> None:
    assert RUN.warmup == 51
    assert look(find_at(30, 50), 30, 50) == []
    assert look(find_at(30, 50, code=DIVERGED.code), 30, 50) == [(50, 25, None)]
    slow = make_run(np.ones(1000), settings={"schedule": {"kind": "linear", "warmup": "40 %"}})
    assert slow.warmup == 401
    assert make_run(np.ones(1000), settings={"schedule": {"kind": "one_cycle", "pct_start": 0.3}}).warmup == 151


def test_a_cause_takes_the_place_of_its_symptoms() -> None:
    symptom = FOLDED[DIVERGED.code][0]

    def judge(run: Recorded) -> Iterator[Finding]:
        yield Finding(level="warning", title="symptom", code=symptom)
        if run.step >= 300:
            yield DIVERGED.find("error", "cause")

    diagnosis = Diagnosis([judge], [])
    told = [(each.code, each.cleared_at) for step in (250, 300, 350, 400) for each in diagnosis.look(RUN.until(step))]
    assert told == [(DIVERGED.code, None)]


def test_a_cause_that_is_over_explains_nothing_though_the_events_tell_of_it() -> None:
    symptom = FOLDED[DIVERGED.code][0]

    def judge(run: Recorded) -> Iterator[Finding]:
        if run.step < 400:
            yield DIVERGED.find("error", "cause")
        else:
            yield Finding(level="warning", title="symptom", code=symptom)

    diagnosis, told = Diagnosis([judge], []), list[Finding]()
    for step in range(200, 800, 100):
        told += diagnosis.look(replace(RUN.until(step), findings=tuple(told)))
    assert [(each.code, each.step, each.cleared_at) for each in told] == [
        (DIVERGED.code, 300, None),
        (DIVERGED.code, 500, 400),
        (symptom, 700, None),
    ]


def test_muted_findings_are_left_out() -> None:
    muted = make_run(np.ones(1000), settings={"muted_findings": [f"{IMBALANCE.code}:here"]})
    assert look(find_at(200, 300), 200, 300, run=muted) == []


def test_a_judge_that_fails_is_logged_and_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def judge(run: Recorded) -> Iterator[Finding]:
        raise ValueError("no")

    found = Diagnosis([judge, lambda run: [IMBALANCE.find("warning", "…")]], [])
    assert [len(found.look(RUN.until(step))) for step in (100, 200)] == [0, 1]
    assert "could not judge step 100" in caplog.text
