"""Runs without a fault, each with something that could be taken for one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.doctor.zoo.case import Healthy, Settings
from tests.doctor.zoo.draws import (
    ADAM,
    Columns,
    draw_customers,
    draw_flowers,
    flowers,
    houses,
    masks,
    ranked,
    shapes,
    spiral,
    tagged,
    text,
    write_table,
)
from tests.doctor.zoo.edit import edit
from tests.doctor.zoo.first.larger_presets import LARGER
from tests.doctor.zoo.first.networks import CNN, MLP, TRANSFORMER
from tests.doctor.zoo.first.own_networks import LSTM, gestures
from tests.doctor.zoo.first.presets import PRESETS


def change(base: Callable[[Path], Settings], **settings: object) -> Callable[[Path], Settings]:
    """``base`` with other settings: ``loop__epochs`` is loop.epochs."""
    return lambda folder: base(folder) | {name.replace("__", "."): value for name, value in settings.items()}  # type: ignore[return-value]


def own(base: Callable[[Path], Settings], network: str) -> Callable[[Path], Settings]:
    """``base`` with a network of one's own."""

    def write(folder: Path) -> Settings:
        (folder / "network.py").write_text(network)
        kept = {name: value for name, value in base(folder).items() if not name.startswith("model.")}
        return kept | {"model.kind": "user_file", "model.path": "network.py"}

    return write


def rare(folder: Path) -> Settings:
    """One in twelve customers leaves; class-balanced sampling makes up for it."""
    columns = draw_customers(3000, 5)
    left = np.asarray(columns["churned"]) == "yes"
    keep = ~left | (np.random.default_rng(0).random(3000) < 0.09)
    write_table(folder / "customers.csv", {name: np.asarray(values)[keep] for name, values in columns.items()})
    given = {name: value for name, value in customers_settings().items() if name != "objective.kind"}
    return given | {"objective.kind": "classification", "loader.sampling": "balanced"}


def customers_settings() -> Settings:
    return {
        "dataset.kind": "table",
        "dataset.path": "customers.csv",
        "dataset.targets": ["churned"],
        "model.kind": "tabular",
        "model.hidden": [32, 32],
        "objective.kind": "binary",
        "loop.epochs": 15,
        "loop.batch_size": 64,
        **ADAM,
    }


def columns_to_leave_out(folder: Path) -> Settings:
    """Row numbers, names and a constant, which are left out by themselves."""
    columns = draw_customers(1200, 6)
    rows: Columns = {
        "row": np.arange(1200),
        "name": [f"Customer {number * 7919 % 100003}" for number in range(1200)],
        "country": ["NL"] * 1200,
        **columns,
    }
    write_table(folder / "customers.csv", rows)
    return customers_settings()


def hardly_predictable(folder: Path) -> Settings:
    """What is measured explains a quarter of the yield; the rest is weather."""
    draws = np.random.default_rng(0)
    soil, water, sun = draws.normal(0, 1, (3, 1500))
    harvest = 40 + 4 * soil + 3 * np.tanh(water) + 1.5 * sun + draws.normal(0, 9, 1500)
    write_table(folder / "fields.csv", {"soil": soil, "water": water, "sun": sun, "harvest": harvest})
    return {
        "dataset.kind": "table",
        "dataset.path": "fields.csv",
        "dataset.targets": ["harvest"],
        "model.kind": "tabular",
        "model.hidden": [16],
        "objective.kind": "regression",
        "loop.epochs": 12,
        "loop.batch_size": 64,
        **ADAM,
    }


def visits(folder: Path) -> Settings:
    """Patients whose visits stay together."""
    draws = np.random.default_rng(2)
    people = np.repeat(np.arange(200), 6)
    sugar = draws.normal(0, 1, 200)[people] + draws.normal(0, 0.4, 1200)
    age = draws.uniform(20, 80, 200)[people]
    ill = draws.random(1200) < 1 / (1 + np.exp(-2.5 * sugar - 0.03 * (age - 50)))
    columns: Columns = {"patient": [f"P{number:04}" for number in people], "sugar": sugar, "age": age}
    write_table(folder / "visits.csv", columns | {"ill": np.where(ill, "yes", "no")})
    return {
        **customers_settings(),
        "dataset.path": "visits.csv",
        "dataset.targets": ["ill"],
        "dataset.group_column": "patient",
    }


def demand(folder: Path) -> Settings:
    """Bicycles lent in an hour by weather and weekday, the newest weeks held out."""
    draws = np.random.default_rng(3)
    day = np.arange(1400)
    warm, rain = 12 + 9 * np.sin(day / 58) + draws.normal(0, 3, 1400), draws.exponential(1, 1400)
    weekend = (day % 7 >= 5).astype(int)
    lent = 200 + 18 * warm - 25 * np.minimum(rain, 4) + 80 * weekend + draws.normal(0, 30, 1400)
    dates = np.datetime64("2021-01-01") + day
    columns = {"date": dates.astype(str), "warm": warm, "rain": rain, "weekend": weekend, "lent": lent}
    write_table(folder / "lent.csv", columns)
    return {
        **customers_settings(),
        "dataset.path": "lent.csv",
        "dataset.targets": ["lent"],
        "dataset.time_column": "date",
        "objective.kind": "regression",
        "loop.epochs": 25,
    }


def sixty_flowers(folder: Path) -> Settings:
    """Few rows of kinds that lie far apart."""
    columns = draw_flowers(80, 8, 3)
    columns = {
        name: values * (1 if name == "species" else 3) for name, values in columns.items() if name != "species"
    } | {"species": columns["species"]}
    write_table(folder / "flowers.csv", columns)
    return {
        "dataset.kind": "table",
        "dataset.path": "flowers.csv",
        "dataset.targets": ["species"],
        "model.kind": "mlp",
        "model.hidden": [64, 64],
        "loop.epochs": 60,
        "loop.batch_size": 16,
        "optimizer.kind": "adamw",
        "optimizer.lr": 3e-3,
        "schedule.kind": "constant",
    }


def waits(folder: Path) -> Settings:
    """Minutes of waiting, from 0.2 to 12, in their own unit."""
    draws = np.random.default_rng(5)
    queue, staff, hour = draws.poisson(4, 1200), draws.integers(1, 6, 1200), draws.uniform(8, 20, 1200)
    minutes = (0.4 + 2.2 * queue / staff) * np.exp(draws.normal(0, 0.15, 1200))
    write_table(folder / "waits.csv", {"queue": queue, "staff": staff, "hour": hour, "minutes": minutes})
    return {
        **customers_settings(),
        "dataset.path": "waits.csv",
        "dataset.targets": ["minutes"],
        "objective.kind": "regression",
        "objective.standardise": False,
        "loop.epochs": 30,
        "optimizer.lr": 1e-2,
    }


ZERO_HEAD = edit(
    CNN,
    (
        "        self.head = nn.Linear(64, classes)",
        "        self.head = nn.Linear(64, classes)\n        nn.init.zeros_(self.head.weight)\n        nn.init.zeros_(self.head.bias)",
    ),
)
LOG_SOFTMAX = edit(MLP, ("return self.out(x)", "return F.log_softmax(self.out(x), dim=1)"))
POSITIVE = edit(MLP, ("return self.out(x)", "return F.softplus(self.out(x))"))
TANH = edit(MLP, ("F.relu(self.fc1(x))", "torch.tanh(self.fc1(x))"), ("F.relu(self.fc2(x))", "torch.tanh(self.fc2(x))"))

ODD = (
    Healthy(
        "small_rate_long_run",
        "I have all night, so I train slowly and for long.",
        "a learning rate of 2e-4 at a constant schedule",
        change(flowers, optimizer__lr=2e-4, schedule__kind="constant", loop__epochs=60),
        "accuracy",
        0.9,
    ),
    Healthy(
        "memorized_on_purpose",
        "Sixty flowers that a child could tell apart; the loss may well go to zero.",
        "training loss of almost 0 in a network far larger than its data",
        sixty_flowers,
        "accuracy",
        0.9,
    ),
    Healthy(
        "rare_but_balanced",
        "Few customers leave, and class-balanced sampling takes care of that.",
        "one class is twelve times as frequent as the other",
        rare,
        "accuracy",
        0.75,
    ),
    Healthy(
        "columns_left_out",
        "The export has row numbers, names and the country in it.",
        "identifiers and a constant column, which are left out by themselves",
        columns_to_leave_out,
        "accuracy",
        0.8,
    ),
    Healthy(
        "weather_decides",
        "More than a quarter of the harvest cannot be told from soil and water.",
        "R2 of about 0.25, which is all that the data has",
        hardly_predictable,
        "r2",
        0.15,
    ),
    Healthy(
        "grouped_visits", "Visits of a patient stay together.", "several rows of each person", visits, "accuracy", 0.75
    ),
    Healthy("newest_weeks", "Predict the next weeks from the past.", "rows in the order of time", demand, "r2", 0.7),
    Healthy(
        "plain_sgd_at_a_half",
        "Old school: SGD without momentum.",
        "a learning rate of 0.5 without momentum",
        change(
            spiral,
            optimizer__kind="sgd",
            optimizer__lr=0.5,
            optimizer__momentum=0.0,
            optimizer__nesterov=False,
        ),
        "accuracy",
        0.9,
    ),
    Healthy(
        "large_batches_many_epochs",
        "Large batches, and a rate and a number of epochs that go with them.",
        "three steps an epoch",
        change(flowers, loop__batch_size=320, loop__epochs=80, optimizer__lr=1e-2),
        "accuracy",
        0.9,
    ),
    Healthy(
        "batches_of_four_with_group_norm",
        "My card takes four images at a time, so I use GroupNorm and a lower rate.",
        "batches of four images",
        lambda folder: (
            shapes(folder, each=100)
            | {"model.norm": "group", "loop.batch_size": 4, "optimizer.lr": 1e-3, "loop.epochs": 5}
        ),
        "accuracy",
        0.85,
    ),
    Healthy(
        "half_dropped",
        "A wide network with dropout of 0.5, as the books have it.",
        "training loss above validation loss",
        change(flowers, model__hidden=[256, 256], model__dropout=0.5),
        "accuracy",
        0.9,
    ),
    Healthy(
        "warm_restarts",
        "Cosine with restarts: the loss jumps up at each, as it should.",
        "the loss rises three times in the run",
        change(spiral, schedule__kind="cosine_restarts", schedule__t_0=190, loop__epochs=40),
        "accuracy",
        0.9,
    ),
    Healthy(
        "patient_early_stopping",
        "Stop when it gets no better for ten epochs.",
        "ends before its last epoch",
        change(
            houses, loop__early_stopping_patience=10, loop__epochs=60, schedule__kind="constant", optimizer__lr=1e-3
        ),
        "r2",
        0.85,
    ),
    Healthy(
        "drops_on_plateaus",
        "The rate falls when validation stands still.",
        "a learning rate far below its beginning at the end",
        change(houses, schedule__kind="plateau", schedule__patience=3, schedule__factor=0.3, optimizer__lr=1e-2),
        "r2",
        0.9,
    ),
    Healthy(
        "mixed_and_smoothed",
        "Mixup and label smoothing, both mild.",
        "training accuracy and loss worse than those of validation",
        lambda folder: shapes(folder, each=200) | {"dataset.mixup_alpha": 0.2, "objective.label_smoothing": 0.1},
        "accuracy",
        0.9,
    ),
    Healthy(
        "averaged_weights",
        "I validate and export the moving average.",
        "validation lags behind in the first epochs",
        change(spiral, loop__ema_decay=0.98),
        "accuracy",
        0.9,
    ),
    Healthy(
        "thin_masks",
        "The object covers 3 % of the image, and Dice looks after that.",
        "one class has 97 % of the pixels",
        lambda folder: masks(folder, share=0.03) | {"objective.loss": "dice_cross_entropy"},
        "mean_iou",
        0.75,
    ),
    Healthy(
        "waits_in_minutes",
        "Minutes are positive: softplus at the end, in their own unit.",
        "softplus at the end of a regression without standardized targets",
        own(waits, POSITIVE),
        "r2",
        0.8,
    ),
    Healthy(
        "log_softmax_as_ever",
        "I always end with log_softmax, which changes nothing of cross-entropy.",
        "log_softmax before cross-entropy: the same loss to the bit or nearly",
        own(flowers, LOG_SOFTMAX),
        "accuracy",
        0.9,
    ),
    Healthy(
        "head_begins_at_zero",
        "The head begins at zero, so that the first loss is that of guessing.",
        "a layer whose initial weights are all 0",
        own(shapes, ZERO_HEAD),
        "accuracy",
        0.85,
    ),
    Healthy("two_layers_of_tanh", "Tanh is fine in a flat network.", "tanh", own(spiral, TANH), "accuracy", 0.9),
    Healthy(
        "gestures_by_lstm", "An LSTM with batch_first.", "a recurrent network", own(gestures, LSTM), "accuracy", 0.9
    ),
    Healthy(
        "masked_transformer", "My own transformer, with its mask.", "attention", own(text, TRANSFORMER), "loss", 1.5
    ),
    Healthy("ranked_offers", "Made queries, ranked.", "nothing", ranked, "ndcg", 0.95),
    Healthy("tags_of_photos", "Photos with several tags.", "labels that overlap", tagged, "f1", 0.85),
    Healthy(
        "unclipped_and_decayed",
        "No clipping, and the weight decay of the paper.",
        "gradient norms above 1",
        change(shapes, loop__clip_norm=0.0, optimizer__weight_decay=0.1),
        "accuracy",
        0.9,
    ),
)

RUNS = (*PRESETS, *LARGER, *ODD)
