"""Runs without a fault, each of which looks odd in one way."""

from __future__ import annotations

from tests.doctor.zoo.builders.bases import changed, figures, points, pumps, tales, wines, yields
from tests.doctor.zoo.builders.samples import by_rows, rare
from tests.doctor.zoo.case import Healthy

RUNS = (
    Healthy(
        "moons_easy",
        "Two moons without noise.",
        "Everything is right after a few epochs.",
        points("moons", **{"dataset.noise": 0.02}),
        "accuracy",
        0.97,
    ),
    Healthy(
        "blobs_overlap",
        "Three blobs that overlap.",
        "No more than 70 % can be had.",
        points("blobs", **{"dataset.spread": 3.5}),
        "accuracy",
        0.5,
    ),
    Healthy(
        "spiral_sgd_fast",
        "A spiral by SGD.",
        "A rate of 0.3, which is right for it.",
        changed(
            points("spiral"),
            {"optimizer.kind": "sgd", "optimizer.momentum": 0.9, "optimizer.lr": 0.3, "loop.epochs": 60},
        ),
        "accuracy",
        0.75,
    ),
    Healthy(
        "figures_clipped",
        "Gradients clipped at 0.5.",
        "Many of the first steps are clipped.",
        changed(figures, {"loop.clip_norm": 0.5}),
        "accuracy",
        0.8,
    ),
    Healthy(
        "figures_smoothed",
        "Label smoothing and dropout.",
        "Training loss stays above validation loss.",
        changed(figures, {"objective.label_smoothing": 0.1, "model.dropout": 0.3, "loop.epochs": 12}),
        "accuracy",
        0.75,
    ),
    Healthy(
        "wines_huber",
        "Prices with a robust loss.",
        "The loss is no squared error.",
        changed(wines, {"objective.loss": "huber"}),
        "r2",
        0.7,
    ),
    Healthy(
        "pumps_step",
        "Two drops of the rate by ten.",
        "The rate is a hundredth for the last third.",
        changed(pumps, {"schedule.kind": "multi_step", "schedule.milestones": ["50%", "75%"]}),
        "accuracy",
        0.8,
    ),
    Healthy(
        "tales_restarts",
        "Warm restarts.",
        "The rate jumps up, and the loss with it.",
        changed(tales, {"schedule.kind": "cosine_restarts", "schedule.t_0": "25%"}),
        "perplexity",
        6,
    ),
    Healthy(
        "yields_small",
        "A small table, and a small network.",
        "70 rows for validation.",
        changed(lambda folder: yields(folder, 350), {"model.hidden": [16], "loop.epochs": 30}),
        "accuracy",
        0.75,
    ),
    Healthy(
        "pumps_balanced",
        "A rare class, drawn as often as the others.",
        "Some 8 rows of a class.",
        lambda folder: by_rows(pumps, "pumps.csv", rare, 0, {"loader.sampling": "balanced"})(folder, False),
        "accuracy",
        0.6,
    ),
    Healthy(
        "circles_stopped",
        "Early stopping that stops in time.",
        "It ends long before its epochs.",
        changed(
            points("circles"), {"loop.epochs": 120, "loop.early_stopping_patience": 12, "schedule.kind": "constant"}
        ),
        "accuracy",
        0.9,
    ),
    Healthy(
        "figures_one_cycle",
        "One-cycle, with batch norm.",
        "A peak of 0.02, warm-up of a third.",
        changed(
            figures,
            {"schedule.kind": "one_cycle", "schedule.max_lr": 0.02, "model.norm": "batch", "optimizer.lr": 1e-3},
        ),
        "accuracy",
        0.75,
    ),
)
