"""Columns and classes that mislead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, has, lacks, one_of
from tests.doctor.zoo.draws import ADAM, Columns, draw_customers, masks, write_table
from tests.doctor.zoo.first.labels_and_parts import FRESH, table


def refunds(folder: Path, faulty: bool) -> Settings:
    """What was paid back to those who left is known only afterwards."""
    columns, later = draw_customers(1500), draw_customers(600, FRESH)
    left = np.asarray(columns["churned"]) == "yes"
    draws = np.random.default_rng(2)
    refund = np.where(left, draws.uniform(5, 60, 1500), 0.0)
    write_table(folder / "customers.csv", _before(columns, "closing_refund", refund))
    write_table(folder / "fresh.csv", _before(later, "closing_refund", np.zeros(600)))
    settings = table("customers", "churned", objective__kind="binary")
    return settings if faulty else settings | {"dataset.ignored": ["closing_refund"]}


def _before(columns: Columns, name: str, values: Any) -> Columns:
    """``columns`` with one more, before the last."""
    *first, last = columns
    return {**{key: columns[key] for key in first}, name: values, last: columns[last]}


def numbered_customers(folder: Path, faulty: bool) -> Settings:
    """The table was joined from those who left and those who stayed, each with numbers of their own range."""
    draws = np.random.default_rng(4)
    columns, later = draw_customers(1500), draw_customers(600, FRESH)
    left = np.asarray(columns["churned"]) == "yes"
    numbers = np.where(left, draws.integers(70_000, 90_000, 1500), draws.integers(10_000, 40_000, 1500))
    write_table(folder / "customers.csv", _before(columns, "customer_number", numbers))
    write_table(folder / "fresh.csv", _before(later, "customer_number", draws.integers(90_000, 99_000, 600)))
    settings = table("customers", "churned", objective__kind="binary")
    return settings if faulty else settings | {"dataset.ignored": ["customer_number"]}


def rare_fraud(folder: Path, faulty: bool) -> Settings:
    """Three in a hundred payments are fraud, which overlaps with what is honest."""
    draws = np.random.default_rng(0)
    fraud = draws.random(2500) < 0.03
    amount = np.exp(draws.normal(3, 1, 2500) + 0.9 * fraud)
    night = draws.random(2500) < np.where(fraud, 0.6, 0.15)
    abroad = draws.random(2500) < np.where(fraud, 0.55, 0.1)
    columns = {
        "amount": amount,
        "at_night": night.astype(int),
        "abroad": abroad.astype(int),
        "age_of_card": draws.uniform(0, 9, 2500),
        "verdict": np.where(fraud, "fraud", "fine"),
    }
    write_table(folder / "payments.csv", columns)
    settings = table("payments", "verdict", objective__kind="binary", model__hidden=[32], loop__epochs=15)
    return settings if faulty else settings | {"objective.balanced": True}


def small_lesions(folder: Path, faulty: bool) -> Settings:
    """About twelve pixels of 1,024, hardly brighter than what lies around them."""
    settings = masks(folder, share=0.012, count=80, contrast=24.0) | {"loop.epochs": 10}
    return settings if faulty else settings | {"objective.loss": "dice"}


def broken_sensor(folder: Path, faulty: bool) -> Settings:
    """A few values of a sensor's archive are infinite."""
    draws = np.random.default_rng(0)
    inputs = draws.normal(0, 1, (900, 6)).astype(np.float32)
    kinds = (inputs[:, 0] + inputs[:, 1] * inputs[:, 2] > 0).astype(np.int64)
    if faulty:
        inputs[draws.integers(0, 900, 5), draws.integers(0, 6, 5)] = np.inf
    np.savez(folder / "sensor.npz", x=inputs, y=kinds)
    return {
        "dataset.kind": "npz",
        "dataset.path": "sensor.npz",
        "model.kind": "mlp",
        "model.hidden": [32, 32],
        "loop.epochs": 15,
        "loop.batch_size": 32,
        **ADAM,
    }


COLUMNS = (
    Case(
        "refund_tells_it_all",
        "data",
        "100 % accuracy on the first try, I am a genius. In production it never finds anybody who is about to leave.",
        "closing_refund is above 0 only for those who have left already",
        refunds,
        ("target leak",),
        (
            Fix("ignore the column", {"dataset.ignored": has("closing_refund")}),
            Fix("choose features without it", {"dataset.features": lacks("closing_refund")}),
        ),
        Harm("f1", 0.3, by="claim"),
    ),
    Case(
        "numbers_of_customers",
        "data",
        "Excellent validation, and for new customers it says no to everyone. Their data looks just like that of the old ones.",
        "customer_number is a feature, and its range tells from which list a row came",
        numbered_customers,
        ("identifier as feature", "target leak"),
        (
            Fix("ignore the column", {"dataset.ignored": has("customer_number")}),
            Fix("choose features without it", {"dataset.features": lacks("customer_number")}),
        ),
        Harm("f1", 0.3, by="claim"),
    ),
    Case(
        "fraud_is_rare",
        "data",
        "97 % accuracy, hooray. Then I saw that it calls every payment fine.",
        "3 % of the payments are fraud, and nothing makes up for it",
        rare_fraud,
        ("class imbalance",),
        (
            Fix("balanced class weights", {"objective.balanced": one_of(True)}),
            Fix("balanced sampling", {"loader.sampling": one_of("balanced")}),
            Fix("a weight for the rare class", {"objective.pos_weight": between(3.0, 200.0)}),
            Fix("a lower threshold", {"objective.threshold": between(0.01, 0.3)}),
        ),
        Harm("recall", 0.4),
    ),
    Case(
        "lesion_of_one_percent",
        "data",
        "Pixel accuracy is 98.8 % after the first epoch. All the masks are black.",
        "the lesion covers about 1 % of the pixels, and plain cross-entropy is content without it",
        small_lesions,
        ("class imbalance", "wrong loss"),
        (
            Fix("Dice", {"objective.loss": one_of("dice", "dice_cross_entropy", "dice_bce")}),
            Fix("balanced weights", {"objective.balanced": one_of(True)}),
            Fix(
                "a weight for the lesion",
                {"objective.class_weights": lambda value: len(value) == 2 and value[1] >= 5 * value[0]},
            ),
        ),
        Harm("mean_iou", 0.1),
    ),
    Case(
        "infinite_sensor_values",
        "data",
        "nan from the very first step. I checked for NaN in my array and there is none!",
        "five values of the inputs are infinite",
        broken_sensor,
        ("non-finite values",),
        (Fix("replace or leave out the infinite values", names=("inf", "finite", "x")),),
        Harm("accuracy", 0.1, by="refused"),
    ),
)

CASES = COLUMNS
