"""Schedules that step once per epoch equal torch's classes stepped once per epoch, and durations are what they say."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.optim import lr_scheduler as torchs

from training.config import RunConfig, dump_config, parse_config
from training.config.files import apply_overrides
from training.config.rules.schedule_problems import duration_problems
from training.config.sections import schedule as sections
from training.core.durations import count_duration, count_epochs, read_duration
from training.errors import ConfigError
from training.schedules import ScheduleConfig, describe, make_schedule
from training.toml_text import read_toml

STEPS, PER_EPOCH = 1000, 7
EPOCHS = 143  # the last one is not whole
LR = 0.0123
Make = Callable[[torch.optim.Optimizer, int], torchs.LRScheduler]


def configure(schedule: dict[str, Any], *overrides: str) -> RunConfig:
    data: dict[str, Any] = {"schedule": schedule}
    apply_overrides(data, overrides)
    return parse_config(data)


def torch_course(make: Callable[[torch.optim.Optimizer], torchs.LRScheduler]) -> list[tuple[float, float]]:
    """Rate and momentum of each step where ``scheduler.step()`` stands behind the loop over an epoch's batches."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros((), dtype=torch.float64))], lr=LR, momentum=0.9)
    scheduler = make(optimizer)
    course = []
    for step in range(STEPS):
        course.append((float(optimizer.param_groups[0]["lr"]), float(optimizer.param_groups[0]["momentum"])))
        optimizer.step()
        if (step + 1) % PER_EPOCH == 0:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scheduler.step()
    return course


SCHEDULES: list[tuple[str, dict[str, Any], Make]] = [
    ("constant", {}, lambda o, n: torchs.ConstantLR(o, factor=1.0)),
    ("linear", {"end_factor": 0.1}, lambda o, n: torchs.LinearLR(o, 1.0, 0.1, n)),
    ("cosine", {"eta_min": 1e-5}, lambda o, n: torchs.CosineAnnealingLR(o, n, 1e-5)),
    ("cosine_restarts", {"t_0": "10 epochs"}, lambda o, n: torchs.CosineAnnealingWarmRestarts(o, 10)),
    ("cosine_restarts", {"t_0": 70, "t_mult": 2}, lambda o, n: torchs.CosineAnnealingWarmRestarts(o, 10, 2)),
    ("step", {"step_size": "30 epochs"}, lambda o, n: torchs.StepLR(o, 30, 0.1)),
    ("step", {"step_size": "10 %", "gamma": 0.5}, lambda o, n: torchs.StepLR(o, 14, 0.5)),
    ("multi_step", {"milestones": ["30 epochs", 420, "70%"]}, lambda o, n: torchs.MultiStepLR(o, [30, 60, 100], 0.1)),
    ("exponential", {"gamma": 0.95}, lambda o, n: torchs.ExponentialLR(o, 0.95)),
    ("polynomial", {"power": 2.0}, lambda o, n: torchs.PolynomialLR(o, n, 2.0)),
]
WARMUPS: list[tuple[int | str, int]] = [(0, 0), ("1 epoch", 1), ("5 %", 7), (70, 10), ("2.0 epochs", 2)]


@pytest.mark.parametrize(
    ("kind", "settings", "make", "warmup", "epochs"),
    [(*schedule, *WARMUPS[(number + shift) % 5]) for number, schedule in enumerate(SCHEDULES) for shift in (0, 2)],
)
def test_every_epoch_equals_torch_stepped_once_per_epoch(
    kind: str, settings: dict[str, Any], make: Make, warmup: int | str, epochs: int
) -> None:
    config = configure({"kind": kind, "every": "epoch", "warmup": warmup, **settings}, "loop.epochs=143").schedule

    def build(optimizer: torch.optim.Optimizer) -> torchs.LRScheduler:
        after = make(optimizer, EPOCHS - epochs)
        if not epochs:
            return after
        rise = torchs.LinearLR(optimizer, 0.01, total_iters=epochs)
        return torchs.SequentialLR(optimizer, [rise, after], milestones=[epochs])

    ours = make_schedule(config, LR, STEPS, PER_EPOCH)
    theirs = [rate for rate, _ in torch_course(build)]
    assert max(abs(ours.lr(step) - rate) for step, rate in enumerate(theirs)) <= 1e-12
    assert len({ours.lr(step) for step in range(PER_EPOCH)}) == 1


@pytest.mark.parametrize("three_phase", [False, True])
def test_one_cycle_every_epoch_equals_torch(three_phase: bool) -> None:
    config = sections.OneCycle(every="epoch", three_phase=three_phase)
    ours = make_schedule(config, LR, STEPS, PER_EPOCH)
    theirs = torch_course(
        lambda o: torchs.OneCycleLR(
            o, LR, total_steps=EPOCHS, three_phase=three_phase, base_momentum=0.85, max_momentum=0.95
        )
    )
    assert max(abs(ours.lr(step) - rate) for step, (rate, _) in enumerate(theirs)) <= 1e-12
    momenta = [ours.momentum(step) for step in range(STEPS)]
    assert max(abs(found - wanted) for found, (_, wanted) in zip(momenta, theirs, strict=True) if found) <= 1e-12


def test_stable_decay_every_epoch_is_itself_over_epochs() -> None:
    config = sections.WarmupStableDecay(warmup="4 epochs", every="epoch")
    by_epoch = make_schedule(sections.WarmupStableDecay(warmup=4), LR, EPOCHS, 1)
    ours = make_schedule(config, LR, STEPS, PER_EPOCH)
    assert [ours.lr(step) for step in range(STEPS)] == [by_epoch.lr(step // PER_EPOCH) for step in range(STEPS)]


@pytest.mark.parametrize("kind", ["linear", "cosine", "one_cycle", "polynomial"])
def test_every_step_is_what_it_was(kind: str) -> None:
    """In epochs of any length."""
    config = configure({"kind": kind}).schedule
    one, other = (make_schedule(config, LR, 100, per_epoch) for per_epoch in (1, 33))
    assert [one.lr(step) for step in range(100)] == [other.lr(step) for step in range(100)]


@pytest.mark.parametrize(
    ("duration", "steps"),
    [
        (0, 0),
        (300, 300),
        ("300 steps", 300),
        ("1 step", 1),
        ("3 epochs", 705),
        ("1epoch", 235),
        ("2.5 epochs", 588),  # 587.5
        ("0.001 epochs", 1),  # something is something
        ("0 epochs", 0),
        ("5 %", 59),  # 58.75
        ("5%", 59),
        ("12.5 %", 147),  # 146.875
        ("100 %", 1175),
    ],
)
def test_a_duration_in_steps(duration: int | str, steps: int) -> None:
    assert count_duration(duration, total_steps=5 * 235, steps_per_epoch=235) == steps


def test_a_duration_in_epochs() -> None:
    def count(duration: int | str) -> int:
        return count_duration(duration, total_steps=1000, steps_per_epoch=30, every="epoch")

    assert count_epochs(1000, 30) == 34
    assert [count(each) for each in (0, 60, "60 steps", "7 epochs", "10 %", "0.1 %")] == [0, 2, 2, 7, 3, 1]
    with pytest.raises(ValueError, match="61 is no whole number of epochs of 30 steps"):
        count(61)


@pytest.mark.parametrize("text", ["", "abc", "3 weeks", "-3", "-1 epochs", "1e3", "3,5 epochs", "٣ epochs", "101 %"])
def test_a_bad_duration_is_refused_by_name(text: str) -> None:
    with pytest.raises(ConfigError, match=r"schedule\.warmup: must be .*, but is"):
        configure({"kind": "cosine", "warmup": text})
    with pytest.raises(ValueError, match="must be"):
        read_duration(text)


@pytest.mark.parametrize("value", [1.5, True, -1, [3], "2.5 steps"])
def test_what_is_no_duration_at_all_is_refused(value: object) -> None:
    with pytest.raises(ConfigError, match=r"schedule\.warmup: must be .*, but is"):
        configure({"kind": "cosine", "warmup": value})


def test_a_period_of_nothing_is_refused() -> None:
    for value in (0, "0 epochs", "0 %"):
        with pytest.raises(ConfigError, match=r"schedule\.step_size: must be more than 0, but is"):
            configure({"kind": "step", "step_size": value})


def test_a_duration_stays_as_it_was_written() -> None:
    config = configure({"kind": "multi_step", "warmup": "5%", "milestones": ["3 epochs", "1000"]})
    text = dump_config(config)
    assert 'warmup = "5%"' in text
    assert parse_config(read_toml(text, "x")) == config
    assert config.schedule.milestones == ("3 epochs", 1000)  # type: ignore[union-attr]


def told(config: ScheduleConfig, total: int = 1000, per_epoch: int = 100) -> list[str]:
    return [str(problem) for problem in duration_problems(config, total, per_epoch)]


def test_what_is_longer_than_the_run_is_refused_by_name() -> None:
    assert told(sections.Step(step_size="12 epochs")) == [
        "schedule.step_size: 12 epochs (1,200 steps) is longer than the run, which has 1,000 steps; write less, for example "
        '"25 %" of the run, or train longer.'
    ]
    assert told(sections.CosineRestarts(t_0=2000)) == [
        "schedule.t_0: 2,000 steps is longer than the run, which has 1,000 steps; write less, for example "
        '"25 %" of the run, or train longer.'
    ]
    assert told(sections.Cosine(warmup="10 epochs")) == [
        "schedule.warmup: the warm-up of 10 epochs (1,000 steps) must be shorter than the run, which has 1,000 steps; "
        'write less, for example "5 %" of the run, or train longer.'
    ]
    assert told(sections.MultiStep(milestones=("50 %", "11 epochs")))[0].startswith(
        "schedule.milestones: 11 epochs (1,100"
    )
    assert told(sections.MultiStep(milestones=("9 epochs", 500)))[0].endswith("for example 1000, 2000.")
    assert not told(sections.Step(step_size=1000))


def test_steps_that_are_no_whole_epochs_are_refused_with_a_fix() -> None:
    problem = next(duration_problems(sections.Cosine(warmup=250, every="epoch"), 1000, 100))
    assert str(problem) == (
        'schedule.warmup: 250 is no whole number of epochs of 100 steps; write for example "2 epochs", or let '
        "schedule.every be step."
    )
    assert problem.fix == {"schedule.warmup": "2 epochs"}
    with pytest.raises(ConfigError, match="250 is no whole number"):
        make_schedule(sections.Cosine(warmup=250, every="epoch"), LR, 1000, 100)
    with pytest.raises(ConfigError, match=r'schedule\.warmup: 2\.5 epochs cannot be had .* "2 epochs"'):
        configure({"kind": "cosine", "warmup": "2.5 epochs", "every": "epoch"})


def test_one_cycle_by_epochs_needs_two_of_them() -> None:
    """torch's formula has the last rate in the only one: a run of one epoch would learn next to nothing."""
    one = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], 1.0)
    torch.optim.lr_scheduler.OneCycleLR(one, 1.0, total_steps=1)
    assert one.param_groups[0]["lr"] == pytest.approx(1.0 / 25 / 1e4)
    [problem] = duration_problems(sections.OneCycle(every="epoch"), 100, 100)
    assert str(problem).startswith("schedule.every: a cycle that goes by epochs needs two of them at least")
    assert problem.fix == {"schedule.every": "step"}
    assert told(sections.OneCycle(every="epoch"), total=60)  # max_steps ends the first epoch
    assert not told(sections.OneCycle(every="epoch"), total=101)
    assert not told(sections.OneCycle(), total=100)


def test_settings_alone_tell_what_is_longer_than_the_run() -> None:
    with pytest.raises(ConfigError, match=r"schedule\.step_size: 9 epochs is longer than the run, which has 4 epochs"):
        configure({"kind": "step", "step_size": "9 epochs"}, "loop.epochs=4")
    with pytest.raises(ConfigError, match=r"schedule\.warmup: must be less than 100 %"):
        configure({"kind": "cosine", "warmup": "100 %"})


def test_a_plateau_goes_by_validations() -> None:
    with pytest.raises(
        ConfigError, match=r"^schedule\.every: a plateau goes by validations, neither by steps nor by epochs"
    ):
        configure({"kind": "plateau", "every": "epoch"})
    assert make_schedule(sections.Plateau(warmup="2 epochs"), LR, 100, 10).lr(10) == pytest.approx(
        LR * (0.01 + 0.99 / 2)
    )


def test_files_of_earlier_versions_say_warmup_steps() -> None:
    old = '[schedule]\nkind = "cosine"\nwarmup_steps = 3\n'
    assert parse_config(read_toml(old, "x")).schedule == sections.Cosine(warmup=3)
    assert configure({}, "schedule.kind=cosine", "schedule.warmup_steps=4").schedule == sections.Cosine(warmup=4)
    assert RunConfig.model_validate({"schedule": {"kind": "linear", "warmup_steps": 2}}).schedule == sections.Linear(
        warmup=2
    )
    with pytest.raises(ConfigError, match=r"schedule\.warmup_steps: unknown key .* did you mean 'warmup'"):
        parse_config({"schedule": {"kind": "cosine", "warmup_steps": 3, "warmup": 4}})


def test_words_fit_both_cadences() -> None:
    assert describe(sections.Step(step_size="3 epochs", every="epoch"), 0.1) == (
        "Is multiplied by 0.1 every 3 epochs, changing once per epoch."
    )
    assert describe(sections.Exponential(every="epoch", gamma=0.9), 0.1) == "Is multiplied by 0.9 at every epoch."
    assert describe(sections.Cosine(warmup="5%"), 0.1).startswith("Rises over 5 % of the run from 0.01")
    assert (
        describe(sections.MultiStep(milestones=("3 epochs", "50 %")), 0.1) == "Is multiplied by 0.1 at 3 epochs, 50 %."
    )
