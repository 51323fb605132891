"""When a run is looked at, and what of what is found is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.training.diagnosis.made_runs import LARGE, make_run
from training.config.sections.loop import Loop
from training.diagnosis import Diagnosis, Recorded, plan_looks
from training.diagnosis.looks import LOOKS, current
from training.events import Finding, FindingLevel, StepSkipped
from training.findings import RULES
from training.findings.curves import DIVERGED
from training.findings.data import IMBALANCE
from training.findings.folding import FOLDED
from training.findings.nonfinite import NONFINITE
from training.findings.settings import UNUSUAL_RATE
from training.runs.folder import RunFolder
from training.runs.records.about import About, write_about

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


def test_of_a_run_of_quick_steps_looks_are_left_out_unless_something_hangs_on_them() -> None:
    assert not plan_looks(1000, 50, Loop(), LARGE).between
    assert len(plan_looks(1000, 50, Loop(), 700_000).between) == LOOKS // 2 - 1
    plan = plan_looks(200, 20, Loop(), 100)
    assert (plan.steps, plan.between) == (tuple(range(20, 220, 20)), frozenset(range(20, 180, 20)) - {40, 120})
    diagnosis, looks = find_at(120, 140, 160), []
    for step in plan.steps:
        if diagnosis.needs(step, plan):
            looks.append((step, bool(look(diagnosis, step))))
    assert looks == [(40, False), (120, False), (140, True), (180, False), (200, True)]


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


def test_what_was_told_before_the_run_explains_symptoms_of_its_side_alone() -> None:
    high = UNUSUAL_RATE.find("warning", "…", evidence={"peak": 30.0, "low": 1e-5, "high": 1e-2})
    swings = UNUSUAL_RATE.find("warning", "…", evidence={"peak": 0.9, "low": 1e-4, "high": 1.0})
    low = UNUSUAL_RATE.find("warning", "…", evidence={"peak": 1e-7, "low": 1e-5, "high": 1e-2})
    slow = UNUSUAL_RATE.find("warning", "…", evidence={"peak": 2e-5, "rates_added_up": 1e-3})
    told = {
        code: [
            bool(look(find_at(200, 300, code=code), 200, 300, run=replace(RUN, findings=(rate,))))
            for rate in (high, swings, low, slow)
        ]
        for code in ("loss.diverged", "units.dead", "update.too_small", "loss.flat", "val.too_good")
    }
    assert told == {
        "loss.diverged": [False, False, True, True],
        "units.dead": [False, False, True, True],
        "update.too_small": [True, True, False, False],
        "loss.flat": [False] * 4,
        "val.too_good": [True] * 4,
    }


def test_no_warning_explains_an_error() -> None:
    warning = replace(RUN, findings=(UNUSUAL_RATE.find("warning", "…", evidence={"peak": 30.0, "low": 1e-5}),))
    error = find_at(200, 300, code=DIVERGED.code, level="error")
    assert look(error, 200, 300, run=warning) == [(300, 195, None)]


def test_what_a_person_put_away_explains_nothing(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    run = replace(
        RUN, findings=(UNUSUAL_RATE.find("warning", "…", evidence={"peak": 30.0, "low": 1e-5}),), folder=folder
    )
    assert look(find_at(200, 300, code="units.dead"), 200, 300, run=run) == []
    write_about(folder, About(dismissed=(UNUSUAL_RATE.code,)))
    assert look(find_at(200, 300, code="units.dead"), 200, 300, run=run) == [(300, 195, None)]


def test_numbers_that_are_not_finite_explain_what_comes_with_them_while_they_last() -> None:
    """Not what began before, and not what comes after."""
    cause = NONFINITE.find("error", "…", place="head", step=300)
    skips = tuple(StepSkipped(step=step, epoch=0) for step in (300, 330))
    run = replace(RUN, findings=(cause,), skips=skips)
    diagnosis = find_at(*range(310, 360, 10), code="units.dead")  # since 305
    assert look(diagnosis, 310, 340, 350, run=run) == []
    assert look(find_at(410, 420, code="units.dead"), 410, 420, run=run) == [(420, 405, None)]
    before = Diagnosis([lambda run: [RULES["units.dead"].find("warning", "…", since=290)]], [])
    assert look(before, 310, 340, run=run) == [(340, 290, None)]


def test_of_one_key_the_end_tells_nothing_that_a_look_told() -> None:
    judge = lambda run: [IMBALANCE.find("warning", "…")]  # noqa: E731
    diagnosis = Diagnosis([judge], [judge])
    assert look(diagnosis, 200, 300) == [(300, 200, None)]
    assert diagnosis.end(replace(RUN.until(300), ended="")) == []
