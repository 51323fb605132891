"""Every schedule equals torch's own class at each optimizer step."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable

import pytest
import torch
from torch.optim import lr_scheduler as torchs

from training import schedules
from training.catalog import SCHEDULES
from training.config.sections import schedule as sections
from training.errors import ConfigError
from training.schedules import PlateauState, Schedule, make_schedule

STEPS = 300
BASE_LR = 0.0123
Scheduler = torchs.LRScheduler


def torch_rates(
    make: Callable[[torch.optim.Optimizer], Scheduler], steps: int = STEPS
) -> tuple[list[float], list[float]]:
    """Rate and momentum each step used, as a plain torch loop sees them."""
    parameter = torch.nn.Parameter(torch.zeros((), dtype=torch.float64))
    optimizer = torch.optim.SGD([parameter], lr=BASE_LR, momentum=0.9)
    scheduler = make(optimizer)
    rates, momenta = [], []
    for _ in range(steps):
        rates.append(float(optimizer.param_groups[0]["lr"]))
        momenta.append(float(optimizer.param_groups[0]["momentum"]))
        optimizer.step()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # SequentialLR itself still passes the deprecated epoch on some releases
            scheduler.step()
    return rates, momenta


def with_warmup(
    config: sections.ScheduleSection, make: Callable[[torch.optim.Optimizer], Scheduler]
) -> Callable[[torch.optim.Optimizer], Scheduler]:
    def build(optimizer: torch.optim.Optimizer) -> Scheduler:
        assert isinstance(config.warmup, int)
        warmup = torchs.LinearLR(optimizer, config.warmup_start_factor, total_iters=config.warmup)
        return torchs.SequentialLR(optimizer, [warmup, make(optimizer)], milestones=[config.warmup])

    return build if config.warmup else make


def assert_equal_rates(ours: Schedule, theirs: list[float]) -> None:
    """Relative difference at most 1e-12 at every step, however small the rate has become."""
    for step, wanted in enumerate(theirs):
        got = ours.lr(step)
        assert abs(got - wanted) <= 1e-12 * wanted, f"step {step}: {got!r} instead of {wanted!r}"


@pytest.mark.parametrize(
    ("total", "warmup"),
    [
        (STEPS, {}),
        (533, {"warmup": 1}),  # stopped on the way
        (STEPS, {"warmup": 100, "warmup_start_factor": 0.5}),
    ],
)
@pytest.mark.parametrize(
    ("config", "make"),
    [
        (sections.Constant(), lambda c, n: lambda o: torchs.ConstantLR(o, factor=1.0)),
        *[
            (sections.Linear(end_factor=end), lambda c, n: lambda o: torchs.LinearLR(o, 1.0, c.end_factor, n))
            for end in (0.0, 0.1, 1.0)
        ],
        *[
            (sections.Cosine(eta_min=low), lambda c, n: lambda o: torchs.CosineAnnealingLR(o, n, c.eta_min))
            for low in (0.0, 1e-4, BASE_LR)
        ],
        *[
            (
                sections.CosineRestarts(t_0=t_0, t_mult=t_mult, eta_min=low),
                lambda c, n: lambda o: torchs.CosineAnnealingWarmRestarts(o, c.t_0, c.t_mult, c.eta_min),
            )
            for t_0, t_mult, low in (
                (1, 1, 0.0),
                (1, 2, 0.0),
                (37, 1, 1e-4),
                (10, 2, 0.0),
                (50, 3, 1e-3),
                (5000, 1, 0.0),
            )
        ],
        *[
            (
                sections.Step(step_size=size, gamma=gamma),
                lambda c, n: lambda o: torchs.StepLR(o, c.step_size, c.gamma),
            )
            for size, gamma in ((1, 0.999), (30, 0.5), (5000, 0.1))
        ],
        *[
            (
                sections.MultiStep(milestones=milestones, gamma=gamma),
                lambda c, n: lambda o: torchs.MultiStepLR(o, list(c.milestones), c.gamma),
            )
            for milestones, gamma in (((1,), 0.1), ((100, 101, 180), 0.3), ((5000,), 0.1))
        ],
        *[
            (sections.Exponential(gamma=gamma), lambda c, n: lambda o: torchs.ExponentialLR(o, c.gamma))
            for gamma in (0.9, 0.999, 1.0, 1.02)
        ],
        *[
            (sections.Polynomial(power=power), lambda c, n: lambda o: torchs.PolynomialLR(o, n, c.power))
            for power in (0.5, 1.0, 2.0, 5.0)
        ],
    ],
)
def test_schedule_equals_torch(config, make, total, warmup) -> None:  # type: ignore[no-untyped-def]
    config = config.model_copy(update=warmup)
    theirs, _ = torch_rates(with_warmup(config, make(config, total - config.warmup)))
    ours = make_schedule(config, BASE_LR, total, 10)
    assert_equal_rates(ours, theirs)
    assert ours.momentum(17) is None
    assert ours.plateau is None


@pytest.mark.parametrize(("total", "max_lr"), [(1, None), (2, 0.5), (7, None), (STEPS, 0.5)])
@pytest.mark.parametrize("anneal", ["cos", "linear"])
@pytest.mark.parametrize(("pct_start", "three_phase"), [(0.05, False), (0.3, True), (0.45, True), (0.9, False)])
def test_one_cycle_equals_torch(
    total: int, anneal: str, three_phase: bool, pct_start: float, max_lr: float | None
) -> None:
    config = sections.OneCycle.model_validate(
        {
            "max_lr": max_lr,
            "pct_start": pct_start,
            "anneal_strategy": anneal,
            "three_phase": three_phase,
            "div_factor": 10.0,
            "final_div_factor": 1e3,
            "base_momentum": 0.8,
            "max_momentum": 0.97,
        }
    )
    theirs, momenta = torch_rates(
        lambda optimizer: torchs.OneCycleLR(
            optimizer,
            max_lr=BASE_LR if max_lr is None else max_lr,
            total_steps=total,
            pct_start=pct_start,
            anneal_strategy=anneal,  # type: ignore[arg-type]
            three_phase=three_phase,
            div_factor=10.0,
            final_div_factor=1e3,
            base_momentum=0.8,
            max_momentum=0.97,
        ),
        total,
    )
    ours = make_schedule(config, BASE_LR, total, 10)
    assert_equal_rates(ours, theirs)
    assert [ours.momentum(step) for step in range(total)] == pytest.approx(momenta, rel=1e-12)


def test_one_cycle_rises_at_once_where_torch_divides_by_zero() -> None:
    schedule = make_schedule(sections.OneCycle(pct_start=0.1), 0.1, 10, 10)
    assert schedule.lr(0) == pytest.approx(0.1)
    assert schedule.lr(9) == pytest.approx(0.1 / 25 / 1e4)


def test_one_cycle_leaves_momentum_alone_when_told() -> None:
    assert make_schedule(sections.OneCycle(cycle_momentum=False), 0.1, 10, 10).momentum(3) is None


@pytest.mark.parametrize(
    "config",
    [
        sections.OneCycle(),
        sections.Linear(),
        sections.Cosine(eta_min=1e-5),
        sections.Polynomial(),
        sections.WarmupStableDecay(end_factor=0.2),
    ],
)
def test_last_value_is_held_past_the_end(config: schedules.ScheduleConfig) -> None:
    schedule = make_schedule(config, BASE_LR, 100, 10)
    assert schedule.lr(101) == schedule.lr(100) == schedule.lr(10_000)
    assert schedule.lr(10_000) <= schedule.lr(99)


@pytest.mark.parametrize("shape", ["linear", "cosine", "sqrt"])
@pytest.mark.parametrize("fraction", [0.01, 0.2, 1.0])
def test_warmup_stable_decay(shape: str, fraction: float) -> None:
    config = sections.WarmupStableDecay.model_validate(
        {"warmup": 50, "decay_fraction": fraction, "decay_shape": shape, "end_factor": 0.1}
    )
    schedule = make_schedule(config, 2.0, STEPS, 10)
    decay = min(round(fraction * STEPS), STEPS - 50)
    start = STEPS - decay
    assert [schedule.lr(step) for step in range(50, start + 1)] == [2.0] * (start - 50 + 1)
    for step in range(start, STEPS + 1):
        x = (step - start) / decay
        share = {"linear": 1 - x, "cosine": 0.5 + 0.5 * math.cos(math.pi * x), "sqrt": 1 - x**0.5}[shape]
        assert schedule.lr(step) == pytest.approx(2.0 * (0.1 + 0.9 * share), rel=1e-12)
    assert schedule.lr(STEPS) == pytest.approx(0.2)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_plateau_equals_torch(seed: int, maximize: bool) -> None:
    draw = random.Random(seed)
    config = sections.Plateau(
        factor=draw.choice([0.1, 0.5, 0.9]),
        patience=draw.choice([0, 1, 3, 10]),
        threshold=draw.choice([0.0, 1e-4, 0.05]),
        cooldown=draw.choice([0, 1, 4]),
        min_lr=draw.choice([0.0, 1e-4, 1e-3, BASE_LR * 2]),
    )
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(()))], lr=BASE_LR)
    theirs = torchs.ReduceLROnPlateau(
        optimizer,
        mode="max" if maximize else "min",
        factor=config.factor,
        patience=config.patience,
        threshold=config.threshold,
        threshold_mode="rel",
        cooldown=config.cooldown,
        min_lr=config.min_lr,
    )
    ours = make_schedule(config, BASE_LR, STEPS, 10)
    assert ours.plateau is not None
    for validation in range(300):
        metric = draw.choice([draw.gauss(1.0, 0.3), draw.gauss(0.0, 1.0), math.nan, math.inf, -math.inf, 1.0])
        before = optimizer.param_groups[0]["lr"]
        theirs.step(metric)
        dropped = ours.plateau.update(metric, maximize)
        assert dropped == (optimizer.param_groups[0]["lr"] < before)
        assert ours.lr(validation) == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-12)
        assert ours.plateau.state()["bad_validations"] == theirs.num_bad_epochs
        assert ours.plateau.state()["cooldown_left"] == theirs.cooldown_counter
        if validation % 50 == 17:  # a resume in between changes nothing
            numbers = ours.plateau.state()
            ours = make_schedule(config, BASE_LR, STEPS, 10)
            assert ours.plateau is not None
            ours.plateau.load(numbers)


def test_plateau_factor_applies_to_its_warmup() -> None:
    config = sections.Plateau(warmup=10, warmup_start_factor=0.1, patience=0, factor=0.5)
    schedule = make_schedule(config, 1.0, 100, 10)
    assert [schedule.lr(0), schedule.lr(5), schedule.lr(10)] == pytest.approx([0.1, 0.55, 1.0])
    assert schedule.plateau is not None
    assert not schedule.plateau.update(1.0, maximize=False)
    assert schedule.plateau.update(1.0, maximize=False)
    assert [schedule.lr(5), schedule.lr(10)] == pytest.approx([0.275, 0.5])


def test_plateau_state_before_the_first_validation_round_trips() -> None:
    state = PlateauState(sections.Plateau(), 0.1)
    other = PlateauState(sections.Plateau(), 0.1)
    other.update(0.5, maximize=True)
    other.load(state.state())
    assert other.state() == state.state()
    assert "best" not in other.state()


def test_warmup_longer_than_the_run_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"schedule\.warmup: .*100 steps must be shorter .*which has 100"):
        make_schedule(sections.Cosine(warmup=100), 0.1, 100, 10)
    assert make_schedule(sections.Cosine(warmup=99), 0.1, 100, 10).lr(99) == 0.1


def test_every_kind_is_described_in_one_sentence() -> None:
    for entry in SCHEDULES:
        text = schedules.describe(entry.config(), 0.05)  # type: ignore[arg-type]
        assert text[0].isupper()
        assert text.endswith(".")
        assert text.count(". ") == 0
    assert schedules.describe(sections.Cosine(warmup=500), 0.05) == (
        "Rises over 500 steps from 0.01 of the rate, then falls along half a cosine wave to 0."
    )
    assert schedules.describe(sections.Plateau(), 0.05) == (
        "Holds 0.05 and multiplies it by 0.1 after more than 10 validations without progress of 0.0001 or "
        "more of the best; at the lowest it is 0."
    )
    assert "more than 1 validation without any progress, then waits for 2 validations; at the lowest it is 0.001" in (
        schedules.describe(sections.Plateau(patience=1, threshold=0.0, cooldown=2, min_lr=1e-3), 0.05)
    )
