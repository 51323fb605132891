"""Learning rates, schedules and optimizers, on small and larger networks."""

from __future__ import annotations

from tests.doctor.zoo.builders.bases import changed, figures, points, pumps, tales, wines
from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, by_settings, one_of

PLAIN: Settings = {"optimizer.kind": "sgd", "optimizer.momentum": 0.9, "optimizer.lr": 0.05, "loop.clip_norm": 100.0}
LOWER = Fix("A lower rate.", {"optimizer.lr": between(2e-4, 0.02)})
HIGHER = Fix("A higher rate.", {"optimizer.lr": between(2e-4, 0.03)})


def whole(value: object) -> bool:
    """A schedule that takes the length of the run, whatever its kind."""
    return value in ("cosine", "linear", "constant", "one_cycle", "wsd", "polynomial")


CASES = (
    Case(
        "moons_rate_high",
        "learning rate",
        "Stochastic gradient descent on two moons: the loss jumps about.",
        "SGD with a rate of 8.",
        by_settings(changed(points("moons"), PLAIN), {"optimizer.lr": 8.0}),
        ("learning rate too high",),
        (Fix("A lower rate.", {"optimizer.lr": between(0.003, 0.6)}),),
        Harm("accuracy", 0.05),
    ),
    Case(
        "figures_rate_high",
        "learning rate",
        "An image network that stays at a third.",
        "AdamW with a rate of 0.3.",
        by_settings(figures, {"optimizer.lr": 0.3}),
        ("learning rate too high",),
        (LOWER,),
        Harm("accuracy", 0.2),
    ),
    Case(
        "tales_rate_high",
        "learning rate",
        "A language model that only knows how frequent letters are.",
        "AdamW with a rate of 0.5.",
        by_settings(tales, {"optimizer.lr": 0.5}),
        ("learning rate too high",),
        (LOWER,),
        Harm("loss", 0.5),
    ),
    Case(
        "pumps_rate_rather_high",
        "learning rate",
        "It learns, and forgets again.",
        "Adam with a constant rate of 0.2 on a small table.",
        by_settings(changed(pumps, {"schedule.kind": "constant"}), {"optimizer.lr": 0.2, "loop.clip_norm": 100.0}),
        ("learning rate too high",),
        (LOWER,),
        Harm("loss", 0.05),
    ),
    Case(
        "circles_rate_low",
        "learning rate",
        "Two rings; after 20 epochs nothing has happened.",
        "AdamW with a rate of 1e-6.",
        by_settings(points("circles"), {"optimizer.lr": 1e-6}),
        ("learning rate too low",),
        (HIGHER,),
        Harm("accuracy", 0.2),
    ),
    Case(
        "wines_rate_low",
        "learning rate",
        "Prices of wine; the loss goes down, but so slowly.",
        "SGD with a rate of 2e-6.",
        by_settings(changed(wines, PLAIN), {"optimizer.lr": 2e-6}),
        ("learning rate too low",),
        (Fix("A higher rate.", {"optimizer.lr": between(2e-3, 0.6)}),),
        Harm("r2", 0.3),
    ),
    Case(
        "tales_rate_low",
        "learning rate",
        "A language model with the rate of a fine-tuning recipe.",
        "AdamW with a rate of 1e-5, from nothing.",
        by_settings(tales, {"optimizer.lr": 1e-5}),
        ("learning rate too low",),
        (HIGHER,),
        Harm("loss", 0.5),
    ),
    Case(
        "spiral_schedule_early",
        "schedule",
        "The milestones come from another run of mine.",
        "The rate falls by a hundred at steps 60 and 120 of 1500.",
        by_settings(
            changed(points("spiral"), {"loop.epochs": 50, "optimizer.lr": 1e-2}),
            {"schedule.kind": "multi_step", "schedule.milestones": [60, 120], "schedule.gamma": 0.01},
        ),
        ("schedule ends early",),
        (
            Fix("A schedule of the run's length.", {"schedule.kind": whole}),
            Fix("Milestones as shares of the run.", {"schedule.milestones": lambda value: list(value) != [60, 120]}),
        ),
        Harm("accuracy", 0.05),
    ),
    Case(
        "figures_schedule_early",
        "schedule",
        "Exponential decay, as a blog had it by epochs.",
        "The rate is multiplied by 0.9 at each step, not epoch.",
        by_settings(figures, {"schedule.kind": "exponential", "schedule.gamma": 0.9}),
        ("schedule ends early",),
        (
            Fix("Decay by epoch.", {"schedule.kind": one_of("exponential"), "schedule.every": one_of("epoch")}),
            Fix("A schedule of the run's length.", {"schedule.kind": whole}),
            Fix("A slower decay.", {"schedule.kind": one_of("exponential"), "schedule.gamma": between(0.97, 1.0)}),
        ),
        Harm("accuracy", 0.1),
    ),
    Case(
        "pumps_schedule_late",
        "schedule",
        "A cosine with a floor, that it may not stop learning.",
        "The floor is the rate itself: it never falls.",
        by_settings(
            changed(pumps, PLAIN | {"optimizer.lr": 0.3}),
            {"schedule.eta_min": 0.3},
        ),
        ("schedule ends late",),
        (
            Fix("No floor.", {"schedule.eta_min": between(0, 0.03)}),
            Fix("Another schedule.", {"schedule.kind": one_of("linear", "one_cycle", "wsd")}),
        ),
        Harm("loss", 0.01),
    ),
    Case(
        "moons_peak_high",
        "schedule",
        "One-cycle with the peak of a paper on ResNets.",
        "max_lr is 2, for AdamW.",
        by_settings(
            changed(points("moons"), {"schedule.kind": "one_cycle", "loop.clip_norm": 100.0}), {"schedule.max_lr": 2.0}
        ),
        ("schedule too high",),
        (
            Fix(
                "The peak that AdamW can use.",
                {"schedule.max_lr": lambda value: value is None or 2e-4 <= value <= 0.03},
            ),
            Fix("Another schedule.", {"schedule.kind": one_of("cosine", "linear", "constant")}),
        ),
        Harm("accuracy", 0.03),
    ),
    Case(
        "spiral_warmup_long",
        "schedule",
        "Warm-up, as large models have it.",
        "It takes 95 % of the run: the rate never arrives.",
        by_settings(
            changed(points("spiral"), {"optimizer.lr": 2e-3, "schedule.kind": "constant", "loop.epochs": 20}),
            {"schedule.warmup": "95%"},
        ),
        ("warm-up too long",),
        (Fix("A short warm-up.", {"schedule.warmup": lambda value: value not in ("95%", 0.95)}),),
        Harm("loss", 0.05),
    ),
    Case(
        "tales_plain_sgd",
        "optimizer",
        "A transformer with plain gradient descent, to begin with.",
        "SGD without momentum and 0.01 hardly moves a transformer.",
        by_settings(
            tales,
            {"optimizer.kind": "sgd", "optimizer.lr": 0.01, "optimizer.momentum": 0.0, "optimizer.nesterov": False},
        ),
        ("unsuitable optimizer", "learning rate too low"),
        (
            Fix("AdamW or another with a scale for each weight.", {"optimizer.kind": one_of("adamw", "adam", "nadam")}),
            Fix("A much higher rate.", {"optimizer.lr": between(0.1, 3.0)}),
        ),
        Harm("loss", 0.5),
    ),
    Case(
        "pumps_eps_large",
        "optimizer",
        "I read that a larger eps makes Adam stable.",
        "eps = 1 makes steps thousands of times smaller.",
        by_settings(pumps, {"optimizer.eps": 1.0}),
        ("optimizer settings",),
        (Fix("The usual eps.", {"optimizer.eps": between(0, 1e-3)}),),
        Harm("loss", 0.1),
    ),
    Case(
        "spiral_clip_tiny",
        "optimizer",
        "Gradients are clipped, for safety.",
        "clip_norm = 0.0001 with SGD: each step is a thousandth of what it should be.",
        by_settings(changed(points("spiral"), PLAIN), {"loop.clip_norm": 1e-4}),
        ("optimizer settings",),
        (
            Fix("Clip at what is usual.", {"loop.clip_norm": lambda value: value is None or value >= 0.05}),
            Fix("No clipping.", {"loop.clip_norm": one_of(None)}),
        ),
        Harm("accuracy", 0.1),
    ),
    Case(
        "figures_frozen",
        "optimizer",
        "I train the head only, as in transfer learning.",
        "All but the head is frozen, at random weights.",
        by_settings(figures, {"optimizer.freeze": "all_but_head"}),
        ("frozen layers",),
        (
            Fix("Freeze nothing.", {"optimizer.freeze": one_of("off")}),
            Fix("Thaw soon.", {"optimizer.unfreeze_epoch": lambda value: value is not None and value <= 2}),
        ),
        Harm("accuracy", 0.1),
    ),
)
