"""Data that says too much, too little, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, has, one_of
from tests.doctor.zoo.draws import take, write_table
from tests.doctor.zoo.second import data, samples


def fee_of_the_collector(folder: Path, faulty: bool) -> Settings:
    """A column that is filled when a loan has failed; of new loans it is 0."""
    settings = data.loans(folder)
    table = samples.draw_loans(4000)
    failed = np.asarray(table["defaulted"]) == "yes"
    fees = np.where(failed, np.random.default_rng(1).uniform(20, 80, 4000), 0.0)
    whole = {"collection_fee": fees, **table}
    write_table(folder / "loans.csv", take(whole, np.arange(3000)))
    write_table(folder / "fresh.csv", take(whole | {"collection_fee": np.zeros(4000)}, np.arange(3000, 4000)))
    return settings if faulty else settings | {"dataset.ignored": ["collection_fee"]}


def numbers_of_files(folder: Path, faulty: bool) -> Settings:
    """Failed loans were entered first, so the number of the file tells them; new loans get higher numbers."""
    settings = data.loans(folder)
    table = samples.draw_loans(4000)
    old = take(table, np.arange(3000))
    order = np.argsort((old["defaulted"] != "yes") + np.random.default_rng(2).normal(0, 0.25, 3000), kind="stable")
    known = ["income", "amount", "age", "late_payments", "purpose"]
    write_table(folder / "loans.csv", {"file_number": np.arange(3000) + 40000, **take(old, order)})
    new = take(table, np.arange(3000, 4000))
    write_table(folder / "fresh.csv", {"file_number": np.arange(3000, 4000) + 40000, **new})
    return settings | {"dataset.features": ["file_number", *known] if faulty else known}


def rarely_yes(folder: Path, faulty: bool) -> Settings:
    settings = data.loans(folder)
    write_table(folder / "loans.csv", samples.draw_loans(6000, sharp=1.2, shift=-4.8))
    return settings | {"objective.balanced": not faulty, "loop.epochs": 10}


def without(name: str) -> Callable[[Any], bool]:
    """Lists without ``name``, and empty ones."""
    return lambda value: not value or name not in value


COUNTS = '''"""Species by how many animals of each kind were counted."""

import numpy as np
import torch
from torch.utils.data import Dataset


class Counts(Dataset):
    def __init__(self, part):
        archive = np.load("ARCHIVE")
        self.counts, self.kinds = archive["x_" + part], archive["y_" + part]

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, index):
        return torch.from_numpy(LOG(self.counts[index])).float(), int(self.kinds[index])


def build(split: str):
    return Counts(split)
'''


def own_numbers(
    folder: Path, text: str, x: samples.Array, y: samples.Array, held: samples.Array | None = None
) -> Settings:
    """An own Dataset of vectors, ``held`` being what the last fifth is replaced by."""
    cut = len(x) * 4 // 5
    last = x[cut:] if held is None else held
    np.savez(folder / "numbers.npz", x_train=x[:cut], y_train=y[:cut], x_validation=last, y_validation=y[cut:])
    (folder / "numbers.py").write_text(text.replace("ARCHIVE", str(folder / "numbers.npz")))
    kept = {name: value for name, value in data.grains(folder).items() if not name.startswith("dataset.")}
    return kept | {"dataset.kind": "user_dataset", "dataset.path": "numbers.py", "dataset.random_samples": False}


def counted_nothing(folder: Path, faulty: bool) -> Settings:
    """Counts, many of them 0, of which the logarithm is taken."""
    x, y = samples.draw_grains(2400)
    counts = np.round(np.exp(np.clip(x, -2, 5))).astype(np.float32)
    return own_numbers(folder, COUNTS.replace("LOG", "np.log" if faulty else "np.log1p"), counts, y)


SENSORS = '''"""Grains by sensors, standardized by what they measured in training."""

import numpy as np
import torch
from torch.utils.data import Dataset


class Sensors(Dataset):
    def __init__(self, part):
        archive = np.load("ARCHIVE")
        self.values, self.kinds = archive["x_" + part], archive["y_" + part]
        self.mean, self.std = archive["x_train"].mean(0), archive["x_train"].std(0)

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, index):
        values = (self.values[index] - self.mean) / SCALE
        return torch.from_numpy(values).float(), int(self.kinds[index])


def build(split: str):
    return Sensors(split)
'''


def sensor_switched_on_later(folder: Path, faulty: bool) -> Settings:
    """A ninth sensor, off at 0 while the training data was collected."""
    x, y = samples.draw_grains(2400)
    x = np.column_stack([x, np.zeros(len(x), np.float32)])
    held = x[1920:].copy()
    held[:, 8] = np.random.default_rng(3).normal(20.5, 0.4, len(held))
    scale = "(self.std + 1e-6)" if faulty else "np.where(self.std > 1e-3, self.std, np.inf)"
    settings = own_numbers(folder, SENSORS.replace("SCALE", scale), x, y, held)
    return settings | {"dataset.normalize": False}


CASES = (
    Case(
        "fee_of_the_collector",
        "data",
        "Nearly all loans are judged right, which my boss does not believe.",
        "a column that is filled only after a default",
        fee_of_the_collector,
        ("target leak",),
        (Fix("leave that column out", {"dataset.ignored": has("collection_fee")}, names=("collection_fee",)),),
        Harm("accuracy", 0.1, "claim"),
    ),
    Case(
        "file_numbers_tell_it",
        "data",
        "I chose the columns myself, the file's number among them.",
        "a running number that tells the class, because files were sorted by it",
        numbers_of_files,
        ("identifier as feature", "target leak"),
        (Fix("leave that column out", {"dataset.features": without("file_number")}, names=("file_number",)),),
        Harm("accuracy", 0.1, "claim"),
    ),
    Case(
        "defaults_are_rare",
        "data",
        "Ninety-odd percent right, and hardly any default is found.",
        "some four percent of positives, not weighted",
        rarely_yes,
        ("class imbalance",),
        (
            Fix("weights", {"objective.balanced": one_of(True)}),
            Fix("draw evenly", {"loader.sampling": one_of("balanced")}),
            Fix("a weight", {"objective.pos_weight": between(4, 60)}),
            Fix("a lower threshold", {"objective.threshold": between(0.03, 0.15)}),
        ),
        Harm("recall", 0.3),
    ),
    Case(
        "logarithm_of_no_animals",
        "data",
        "I take logarithms of counts, as ecologists do.",
        "logarithms of 0 among the inputs",
        counted_nothing,
        ("non-finite values",),
        (Fix("log of one more", names=("numbers.py", "logarithm", "log(", "Counts")),),
        Harm("accuracy", 1, "refused"),
    ),
    Case(
        "sensor_that_was_off",
        "data",
        "A sensor was added in between. Validation is much worse than training.",
        "a column that is constant in training, divided by a deviation of nearly 0",
        sensor_switched_on_later,
        ("constant columns", "parts preprocessed differently"),
        (
            Fix(
                "leave that sensor out",
                names=("numbers.py", "Sensors", "constant", "feature 9", "column 9", "feature 8"),
            ),
        ),
        Harm("accuracy", 0.2),
    ),
)
