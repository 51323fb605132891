"""Schedules that fall too early, too late or from too high."""

from __future__ import annotations

from tests.doctor.zoo.case import Case, Fix, Harm, between, by_settings, one_of
from tests.doctor.zoo.draws import shapes, spiral

CASES = (
    Case(
        "exponential_in_steps",
        "schedule",
        "gamma = 0.9 is from the example in the documentation. It learns for a moment and then the curve is completely flat.",
        "the rate is multiplied by 0.9 after each step, which was meant for epochs",
        by_settings(
            lambda folder: (
                shapes(folder) | {"schedule.kind": "exponential", "schedule.every": "epoch", "schedule.gamma": 0.9}
            ),
            {"schedule.every": "step"},
        ),
        ("schedule ends early",),
        (
            Fix("by epochs", {"schedule.every": one_of("epoch")}),
            Fix("a gamma for steps", {"schedule.gamma": between(0.985, 1.0)}),
            Fix(
                "another schedule",
                {"schedule.kind": one_of("cosine", "one_cycle", "linear", "constant", "wsd", "plateau")},
            ),
        ),
        Harm("accuracy", 0.05),
    ),
    Case(
        "warm_up_until_the_end",
        "schedule",
        "Large models use thousands of warm-up steps, so I do as well. My run of 285 steps never really takes off.",
        "the warm-up takes 98 % of the run",
        by_settings(
            lambda folder: spiral(folder) | {"optimizer.lr": 1e-3, "loop.epochs": 15, "schedule.kind": "constant"},
            {"schedule.warmup": "98%"},
        ),
        ("warm-up too long",),
        (
            Fix(
                "a short warm-up",
                {
                    "schedule.warmup": lambda value: (
                        value in (0, "0%", "5%", "5 %", "10%", "2%", "3%", "1%") or _few(value)
                    )
                },
            ),
            Fix("a schedule with its own", {"schedule.kind": one_of("one_cycle")}),
        ),
        Harm("accuracy", 0.05),
    ),
    Case(
        "one_cycle_to_the_moon",
        "schedule",
        "Super-convergence with max_lr = 3! The first epochs are good, in the middle everything breaks and it never recovers.",
        "one-cycle rises to a rate of 3 with AdamW",
        by_settings(
            lambda folder: shapes(folder) | {"schedule.kind": "one_cycle", "schedule.max_lr": 5e-3},
            {"schedule.max_lr": 3.0},
        ),
        ("schedule too high", "learning rate too high"),
        (
            Fix("a lower peak", {"schedule.max_lr": lambda value: value is None or 1e-4 <= value <= 3e-2}),
            Fix("a schedule that only falls", {"schedule.kind": one_of("cosine", "linear", "constant")}),
        ),
        Harm("accuracy", 0.2),
    ),
)


def _few(value: object) -> bool:
    return isinstance(value, int) and 0 <= value <= 120
