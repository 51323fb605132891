"""How long is trained, with what batches, how strongly it is held back, and on what it is measured."""

from __future__ import annotations

from pathlib import Path

from tests.doctor.zoo.builders.bases import changed, figures, points, pumps, tales, wines, yields
from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, by_settings, one_of
from tests.doctor.zoo.draws import shapes, write_shapes


def few_figures(folder: Path) -> Settings:
    """So few and so noisy that a network learns them by heart."""
    settings = shapes(folder / "plain", each=1, side=16) | {"model.channels": [24, 48], "model.hidden": 96}
    write_shapes(folder / "images", 40, 16, seed=12, noise=85.0)
    return settings


def smaller_batches(value: object) -> bool:
    return isinstance(value, int) and 4 <= value <= 128


CASES = (
    Case(
        "tales_epochs_few",
        "epochs",
        "A language model, and one quick look at a short text.",
        "40 steps, and the loss was falling fast when they ended.",
        by_settings(tales, {"loop.max_steps": 40}),
        ("too few epochs",),
        (
            Fix("Many more steps.", {"loop.max_steps": lambda value: value is None or value >= 120}),
            Fix("More epochs.", {"loop.epochs": lambda value: value >= 8, "loop.max_steps": lambda value: value != 40}),
        ),
        Harm("loss", 0.3),
    ),
    Case(
        "spiral_epochs_few",
        "epochs",
        "Three arms of a spiral, two epochs.",
        "2 epochs, where 30 are needed.",
        by_settings(changed(points("spiral"), {"loop.epochs": 30, "optimizer.lr": 5e-3}), {"loop.epochs": 2}),
        ("too few epochs",),
        (Fix("More epochs.", {"loop.epochs": lambda value: value >= 8}),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "wines_epochs_few",
        "epochs",
        "A quick regression.",
        "1 epoch, where 20 are needed.",
        by_settings(wines, {"loop.epochs": 1}),
        ("too few epochs",),
        (Fix("More epochs.", {"loop.epochs": lambda value: value >= 4}),),
        Harm("r2", 0.1),
    ),
    Case(
        "yields_epochs_many",
        "epochs",
        "Better safe than sorry: 300 epochs.",
        "A large network learns 280 rows by heart.",
        by_settings(
            changed(lambda folder: yields(folder, 350), {"model.hidden": [128, 128], "schedule.kind": "constant"}),
            {"loop.epochs": 150},
        ),
        ("too many epochs",),
        (
            Fix("Fewer epochs.", {"loop.epochs": between(3, 60)}),
            Fix("Early stopping.", {"loop.early_stopping_patience": lambda value: value is not None}),
        ),
        Harm("loss", 0.15),
    ),
    Case(
        "figures_epochs_many",
        "epochs",
        "A few noisy images, trained until the training loss is zero.",
        "80 epochs of 96 images: validation gets worse for most of them.",
        by_settings(changed(few_figures, {"loop.epochs": 8, "schedule.kind": "constant"}), {"loop.epochs": 80}),
        ("too many epochs",),
        (
            Fix("Fewer epochs.", {"loop.epochs": between(3, 40)}),
            Fix("Early stopping.", {"loop.early_stopping_patience": lambda value: value is not None}),
        ),
        Harm("loss", 0.1),
    ),
    Case(
        "spiral_stopped_early",
        "epochs",
        "Early stopping, patience 1.",
        "Validation is noisy, and the run stops at the first worse value.",
        by_settings(
            changed(points("spiral", **{"dataset.samples": 400}), {"loop.epochs": 60, "optimizer.lr": 5e-3}),
            {
                "loop.early_stopping_patience": 1,
                "loop.early_stopping_min_delta": 0.08,
                "checkpoints.monitor": "val/accuracy",
            },
        ),
        ("stopped too early",),
        (
            Fix("More patience.", {"loop.early_stopping_patience": lambda value: value is None or value >= 4}),
            Fix("No least gain.", {"loop.early_stopping_min_delta": between(0, 0.002)}),
        ),
        Harm("accuracy", 0.05),
    ),
    Case(
        "circles_batch_large",
        "batch",
        "The largest batch that fits.",
        "All 960 samples in one batch: 20 steps in all.",
        by_settings(points("circles"), {"loop.batch_size": 960}),
        ("batch too large", "too few epochs"),
        (Fix("A smaller batch.", {"loop.batch_size": smaller_batches}),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "figures_batch_large",
        "batch",
        "Images in batches of 512.",
        "All images in one batch: 8 steps in all.",
        by_settings(figures, {"loop.batch_size": 512}),
        ("batch too large", "too few epochs"),
        (Fix("A smaller batch.", {"loop.batch_size": smaller_batches}),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "figures_batch_tiny",
        "batch",
        "My memory is small, so each batch has two images.",
        "Batch norm over two images at a time.",
        by_settings(
            changed(
                figures, {"model.kind": "small_cnn", "model.norm": "batch", "loop.epochs": 5, "optimizer.lr": 1e-2}
            ),
            {"loop.batch_size": 2},
        ),
        ("batch too small",),
        (
            Fix("A larger batch.", {"loop.batch_size": lambda value: value >= 8}),
            Fix("Another norm.", {"model.norm": one_of("group", "layer", "none")}),
        ),
        Harm("loss", 0.05),
    ),
    Case(
        "pumps_batch_one",
        "batch",
        "Sample after sample, as the book has it.",
        "Batches of one at the rate of larger ones: the steps are noise.",
        by_settings(
            changed(pumps, {"optimizer.lr": 0.02, "loop.epochs": 5, "schedule.kind": "constant"}),
            {"loop.batch_size": 1},
        ),
        ("batch too small", "learning rate too high"),
        (
            Fix("A larger batch.", {"loop.batch_size": lambda value: value >= 8}),
            Fix("A lower rate.", {"optimizer.lr": between(1e-5, 5e-3)}),
        ),
        Harm("loss", 0.03),
    ),
    Case(
        "wines_decay_strong",
        "regularization",
        "Weight decay against overfitting.",
        "AdamW with a weight decay of 10.",
        by_settings(wines, {"optimizer.weight_decay": 10.0}),
        ("regularization too strong",),
        (Fix("The usual decay.", {"optimizer.weight_decay": between(0, 1)}),),
        Harm("r2", 0.05),
    ),
    Case(
        "spiral_dropout_strong",
        "regularization",
        "Dropout against overfitting.",
        "Dropout of 0.9 in a network of 48 units.",
        by_settings(points("spiral"), {"model.dropout": 0.9}),
        ("regularization too strong",),
        (Fix("Less dropout.", {"model.dropout": between(0, 0.5)}),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "figures_smoothing_strong",
        "regularization",
        "Smooth labels, that it may not be so sure.",
        "Label smoothing of 0.9.",
        by_settings(figures, {"objective.label_smoothing": 0.9}),
        ("regularization too strong",),
        (Fix("Less smoothing.", {"objective.label_smoothing": between(0, 0.3)}),),
        Harm("loss", 0.2),
    ),
    Case(
        "figures_all_at_once",
        "regularization",
        "Everything that helps against overfitting, in a small network.",
        "Dropout, decay and smoothing all strong, where there is nothing to overfit.",
        by_settings(
            figures,
            {
                "model.dropout": 0.6,
                "optimizer.weight_decay": 3.0,
                "optimizer.decay_bias_and_norm": True,
                "objective.label_smoothing": 0.35,
            },
        ),
        ("redundant regularization", "regularization too strong"),
        (
            Fix("Less dropout.", {"model.dropout": between(0, 0.5)}),
            Fix("Less decay.", {"optimizer.weight_decay": between(0, 0.5)}),
            Fix("Less smoothing.", {"objective.label_smoothing": between(0, 0.3)}),
        ),
        Harm("loss", 0.1),
    ),
)
