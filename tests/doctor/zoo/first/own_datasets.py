"""Datasets of people's own that do not give what they should, or not soon."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, one_of
from tests.doctor.zoo.draws import ADAM, draw_customers, write_table
from tests.doctor.zoo.edit import edit

SALARIES = """import csv
from pathlib import Path

import torch
from torch.utils.data import Dataset

FILE = Path(PLACE)


def read_rows():
    with FILE.open() as stream:
        return list(csv.DictReader(stream))


class Customers(Dataset):
    classes = ["no", "yes"]

    def __init__(self, first, last):
        self.rows = read_rows()[first:last]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row = self.rows[index]
        values = [float(row["salary"]), float(row["tenure"]), float(row["support_calls"]), float(row["monthly_charge"])]
        return torch.tensor(values), self.classes.index(row["churned"])


def build(split: str):
    return Customers(0, 1000) if split == "train" else Customers(1000, 1400)
"""


def own_dataset(source: str, **others: object) -> Callable[[Path], Settings]:
    """Customers with their salaries, by a Dataset of one's own."""

    def write(folder: Path) -> Settings:
        columns = draw_customers(1400)
        salary = np.random.default_rng(8).normal(52000, 9000, 1400)
        write_table(folder / "customers.csv", {"salary": salary, **columns})
        (folder / "customers.py").write_text(source.replace("PLACE", repr(str(folder / "customers.csv"))))
        return {
            "dataset.kind": "user_dataset",
            "dataset.path": "customers.py",
            "dataset.random_samples": False,
            "model.kind": "mlp",
            "model.hidden": [32, 32],
            "loop.epochs": 15,
            "loop.batch_size": 32,
            **ADAM,
            **others,  # type: ignore[dict-item]
        }

    return write


def either(faulty: Callable[[Path], Settings], sound: Callable[[Path], Settings]) -> Callable[[Path, bool], Settings]:
    return lambda folder, fault: (faulty if fault else sound)(folder)


SCALED = edit(
    SALARIES,
    (
        'values = [float(row["salary"]), float(row["tenure"]), float(row["support_calls"]), float(row["monthly_charge"])]',
        'values = [float(row["salary"]) / 50000, float(row["tenure"]) / 72, float(row["support_calls"]) / 4, float(row["monthly_charge"]) / 110]',
    ),
)
ONLY_TRAINING = edit(
    SALARIES,
    ("def __init__(self, first, last):", "def __init__(self, first, last, scale):\n        self.scale = scale"),
    (
        "        return torch.tensor(values)",
        "        if self.scale:\n            values = [(v - m) / s for v, m, s in zip(values, [52000, 36, 1.5, 65], [9000, 21, 1.2, 26])]\n"
        "        return torch.tensor(values)",
    ),
    ("Customers(0, 1000)", "Customers(0, 1000, True)"),
    ("Customers(1000, 1400)", "Customers(1000, 1400, False)"),
)
CONSTANT = edit(
    SALARIES,
    (
        "        self.rows = read_rows()[first:last]",
        "        self.rows = read_rows()[first:last]\n"
        '        names = ["salary", "tenure", "support_calls", "country"]\n'
        "        table = torch.tensor([[float(row.get(name, 49)) for name in names] for row in self.rows])\n"
        "        self.table = (table - table.mean(0)) / table.std(0)",
    ),
    ("return torch.tensor(values),", "return self.table[index],"),
)
FEW = edit(SALARIES, ("Customers(0, 1000)", "Customers(0, 400)"), ("Customers(1000, 1400)", "Customers(1000, 1100)"))
SLOW = edit(FEW, ("row = self.rows[index]", "row = read_rows()[index]  # always fresh"))

DATASETS = (
    Case(
        "salary_beside_tenure",
        "preprocessing",
        "Salary, tenure, calls: all just numbers. The loss starts at 3000 and accuracy stays at that of the larger class.",
        "inputs from 0 to 80,000 go into the network as they are",
        either(
            own_dataset(SALARIES, **{"dataset.normalize": False, "optimizer.lr": 1e-3}),
            own_dataset(SALARIES, **{"optimizer.lr": 1e-3}),
        ),
        ("unscaled inputs",),
        (Fix("normalize the inputs", {"dataset.normalize": one_of(True)}),),
        Harm("accuracy", 0.05),
    ),
    Case(
        "only_training_is_scaled",
        "preprocessing",
        "Training accuracy 85 %, validation 60 % from the first epoch on. It cannot be overfitting that early, can it?",
        "the Dataset scales training samples and forgets to scale those of validation",
        either(
            own_dataset(ONLY_TRAINING, **{"dataset.normalize": False}),
            own_dataset(edit(ONLY_TRAINING, ("1400, False", "1400, True")), **{"dataset.normalize": False}),
        ),
        ("parts preprocessed differently",),
        (Fix("scale both parts alike", names=("validation", "scale", "preprocess", "distribution")),),
        Harm("accuracy", 0.05),
    ),
    Case(
        "constant_column_standardized",
        "data",
        "I standardize my table by hand as everybody does. Loss nan. All customers are from country 49, if that matters.",
        "a constant column divided by its std of 0",
        either(
            own_dataset(CONSTANT, **{"dataset.normalize": False}),
            own_dataset(edit(CONSTANT, (', "country"]', ', "monthly_charge"]')), **{"dataset.normalize": False}),
        ),
        ("constant columns", "non-finite values"),
        (Fix("leave the constant column out", names=("constant", "column", "std", "finite")),),
        Harm("accuracy", 0.1, by="refused"),
    ),
    Case(
        "reads_the_file_each_time",
        "machine",
        "A tiny table, a tiny network, and it takes minutes. My processor is busy, but not with training.",
        "__getitem__ reads the whole CSV file for each sample",
        either(
            own_dataset(SLOW, **{"dataset.random_samples": True, "loop.epochs": 2, "loader.workers": 0}),
            own_dataset(FEW, **{"dataset.random_samples": True, "loop.epochs": 2, "loader.workers": 0}),
        ),
        ("slow loader",),
        (
            Fix("read once", {"dataset.random_samples": one_of(False)}),
            Fix("workers", {"loader.workers": between(1, 64)}),
            Fix("open the file in __init__", names=("__getitem__", "read_rows", "Dataset")),
        ),
        Harm("accuracy", 5.0, by="speed"),
    ),
)

CASES = DATASETS
