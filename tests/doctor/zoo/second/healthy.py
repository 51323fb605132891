"""Runs in which nothing is wrong, though something is odd."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from tests.doctor.zoo.case import Healthy, Settings, by_network
from tests.doctor.zoo.draws import ADAM, write_table
from tests.doctor.zoo.first.presets import PRESETS
from tests.doctor.zoo.second import data, samples
from tests.doctor.zoo.second.losses import DICE, own_loss
from tests.doctor.zoo.second.networks import DENSE, swap
from tests.doctor.zoo.second.unusual import FOURIER, LISTENER, REZERO, SEQUENCE_FIRST


def with_network(base: Callable[[Path], Settings], text: str) -> Callable[[Path], Settings]:
    """The person's own network, as it is."""
    write = by_network(base, text, text)
    return lambda folder: write(folder, False)


def rare_and_plain(folder: Path) -> Settings:
    settings = data.loans(folder)
    write_table(folder / "loans.csv", samples.draw_loans(5000, sharp=8.0, shift=-3.0))
    return settings | {"model.hidden": [32, 32], "loop.epochs": 15}


def coins(folder: Path) -> Settings:
    settings = data.loans(folder)
    write_table(folder / "loans.csv", samples.draw_loans(6000, sharp=0.6))
    return settings | {"loop.epochs": 8}


def survey(folder: Path) -> Settings:
    """Three answers from 1 to 5, so there are 125 different rows at most; people who answer alike do not always buy alike."""
    draws = np.random.default_rng(1)
    answers = draws.integers(1, 6, (4000, 3))
    score = answers @ np.array([0.9, -0.7, 0.5]) - 2.1
    bought = draws.random(4000) < 1 / (1 + np.exp(-1.6 * score))
    columns = {f"question_{number + 1}": answers[:, number] for number in range(3)}
    write_table(folder / "survey.csv", {**columns, "bought": np.where(bought, "yes", "no")})
    return data.loans(folder) | {
        "dataset.path": "survey.csv",
        "dataset.targets": ["bought"],
        "model.hidden": [16],
        "loop.epochs": 8,
    }


def hundreds(folder: Path) -> Settings:
    """Bicycles in hundreds, which the network gives itself."""
    settings = data.bikes(folder, count=4000)
    table = samples.draw_bikes(4000)
    table["rented"] = np.asarray(table["rented"], float) / 100
    write_table(folder / "bikes.csv", table)
    return settings | {"objective.standardise": False}


def shares(folder: Path) -> Settings:
    """What share of a station's bicycles is out: from 0 to 1."""
    draws = np.random.default_rng(2)
    values = draws.normal(0, 1, (3000, 4))
    share = 1 / (1 + np.exp(-(1.2 * values[:, 0] - values[:, 1] * values[:, 2]))) + draws.normal(0, 0.02, 3000)
    columns = {name: values[:, place] for place, name in enumerate(("rain", "hour", "day", "wind"))}
    write_table(folder / "stations.csv", {**columns, "share_out": np.clip(share, 0, 1)})
    return data.bikes(folder) | {
        "dataset.path": "stations.csv",
        "dataset.targets": ["share_out"],
        "objective.standardise": False,
        "loop.epochs": 20,
    }


def budgets(folder: Path) -> Settings:
    draws = np.random.default_rng(3)
    people, roads, schools = draws.lognormal(11, 1, 2000), draws.lognormal(5, 0.6, 2000), draws.poisson(20, 2000)
    budget = 4.1e3 * people * (1 + 0.02 * schools) + 2e6 * roads
    budget = budget * draws.lognormal(0, 0.05, 2000)
    columns = {"log_people": np.log(people), "km_of_roads": roads, "schools": schools, "budget": np.round(budget)}
    write_table(folder / "towns.csv", columns)
    return data.bikes(folder) | {"dataset.path": "towns.csv", "dataset.targets": ["budget"]}


def gaps(folder: Path) -> Settings:
    """A seventh of the cells is empty, one column is the same everywhere, and one numbers the rows."""
    settings = data.loans(folder)
    table = samples.draw_loans(4000)
    draws = np.random.default_rng(4)
    for name in ("income", "amount", "late_payments"):
        cells = [f"{value:.2f}" for value in np.asarray(table[name], float)]
        table[name] = ["" if gone else cell for cell, gone in zip(cells, draws.random(4000) < 0.14, strict=True)]
    table = {"number": np.arange(4000), "bank": ["north"] * 4000, **table}
    write_table(folder / "loans.csv", table)
    return settings | {"dataset.missing_indicator": True, "loop.epochs": 10}


def claims(folder: Path) -> Settings:
    """Damages with a long tail, as they are by nature, and absolute errors."""
    draws = np.random.default_rng(5)
    values = draws.normal(0, 1, (3000, 4))
    cost = 500 * np.exp(
        0.8 * values[:, 0] - 0.6 * values[:, 1] + 0.4 * np.abs(values[:, 2]) + draws.normal(0, 0.25, 3000)
    )
    columns = {name: values[:, place] for place, name in enumerate(("speed", "care", "slope", "color"))}
    write_table(folder / "claims.csv", {**columns, "cost": np.round(cost)})
    return data.bikes(folder) | {
        "dataset.path": "claims.csv",
        "dataset.targets": ["cost"],
        "objective.loss": "l1",
        "model.hidden": [32, 32],
        "loop.epochs": 15,
    }


def seldom_musical(folder: Path) -> Settings:
    """One label of five has only some six percent of the samples."""
    settings = data.genres(folder, count=4000)
    x, y = samples.draw_genres(4000)
    y[:, 2] = (np.abs(x[:, 3]) > 1.9).astype(np.int64)
    np.savez(folder / "films.npz", x=x, y=y)
    return settings


def towns_and_weather(folder: Path) -> Settings:
    """A class and a number at once."""
    draws = np.random.default_rng(6)
    values = draws.normal(0, 1, (2500, 5))
    kind = np.array(["dry", "wet", "snowy"])[np.digitize(values[:, 0] + values[:, 1], (-0.7, 0.7))]
    warmth = 10 + 6 * values[:, 1] - 4 * values[:, 2] * values[:, 3] + draws.normal(0, 0.8, 2500)
    columns = {f"sensor_{place}": values[:, place] for place in range(5)}
    write_table(folder / "weather.csv", {**columns, "weather": kind, "warmth": warmth})
    return {
        "dataset.kind": "table",
        "dataset.path": "weather.csv",
        "dataset.targets": ["weather", "warmth"],
        "dataset.task": "tasks",
        "model.kind": "tabular",
        "model.hidden": [64, 64],
        "objective.kind": "multi_task",
        "loop.epochs": 20,
        "loop.batch_size": 64,
        **ADAM,
    }


OWN_SCALE = swap(
    data.SIGNALS, ("return torch.from_numpy(self.values[index])", "return torch.from_numpy(self.values[index] / 1.2)")
)

RUNS = (
    *(replace(run, name=f"{run.name}_again") for run in PRESETS),
    Healthy(
        "few_defaults_well_known",
        "Only some defaults, but clear ones.",
        "few positives, not weighted",
        rare_and_plain,
        "f1",
        0.8,
    ),
    Healthy(
        "nobody_can_know_better",
        "Who pays is half a matter of luck.",
        "an accuracy of two thirds",
        coins,
        "accuracy",
        0.63,
    ),
    Healthy(
        "many_alike_answers",
        "A survey of three questions.",
        "rows that are alike, with different answers",
        survey,
        "accuracy",
        0.75,
    ),
    Healthy(
        "two_grains_at_a_time",
        "My memory is small.",
        "batches of two, at a rate for them",
        lambda folder: data.grains(folder) | {"loop.batch_size": 2, "optimizer.lr": 5e-4, "loop.epochs": 8},
        "accuracy",
        0.92,
    ),
    Healthy(
        "rate_of_a_half_warmed_up",
        "SGD at 0.5 after a warm-up.",
        "a high rate",
        lambda folder: (
            data.blobs(folder)
            | {
                "optimizer.kind": "sgd",
                "optimizer.lr": 0.5,
                "optimizer.momentum": 0.0,
                "optimizer.nesterov": False,
                "schedule.warmup": "10 %",
            }
        ),
        "accuracy",
        0.95,
    ),
    Healthy(
        "wide_and_half_dropped",
        "A wide network with dropout.",
        "dropout of a half",
        lambda folder: (
            data.grains(folder, count=4000) | {"model.hidden": [256], "model.dropout": 0.5, "loop.epochs": 20}
        ),
        "accuracy",
        0.93,
    ),
    Healthy(
        "two_epochs_of_thirty_thousand",
        "Points are cheap.",
        "two epochs",
        lambda folder: data.moons(folder) | {"dataset.samples": 30000, "loop.epochs": 2},
        "accuracy",
        0.98,
    ),
    Healthy(
        "no_layer_needed",
        "Clouds that planes divide.",
        "no hidden layer",
        lambda folder: (
            data.blobs(folder, classes=4) | {"dataset.spread": 2.5, "model.hidden": [], "optimizer.lr": 2e-2}
        ),
        "accuracy",
        0.97,
    ),
    Healthy(
        "never_fewer_than_none",
        "Counts are never negative, and nor are my targets.",
        "softplus after the last layer",
        with_network(hundreds, swap(DENSE, ("return self.out(x)", "return F.softplus(self.out(x))"))),
        "r2",
        0.9,
    ),
    Healthy(
        "shares_by_sigmoid",
        "A share lies between 0 and 1.",
        "sigmoid after the last layer of a regression",
        with_network(shares, swap(DENSE, ("return self.out(x)", "return torch.sigmoid(self.out(x))"))),
        "r2",
        0.9,
    ),
    Healthy(
        "less_than_nothing",
        "I minimize minus Dice.",
        "a negative loss",
        lambda folder: own_loss(data.roads, "segmentation", "", DICE.replace("SIGN", "-"))(folder, False),
        "mean_iou",
        0.9,
    ),
    Healthy(
        "scaled_by_itself",
        "My Dataset scales its recordings.",
        "normalization is off",
        lambda folder: data.signals(folder, text=OWN_SCALE) | {"dataset.normalize": False},
        "accuracy",
        0.93,
    ),
    Healthy("budgets_of_towns", "Budgets of towns.", "targets of billions", budgets, "r2", 0.9),
    Healthy(
        "stops_when_it_is_done",
        "It may stop when nothing gets better.",
        "it ends long before its epochs do",
        lambda folder: (
            data.glyphs(folder)
            | {
                "loop.epochs": 60,
                "loop.early_stopping_patience": 8,
                "schedule.kind": "constant",
                "optimizer.lr": 1e-3,
                "optimizer.weight_decay": 0.05,
            }
        ),
        "accuracy",
        0.97,
    ),
    Healthy(
        "gaps_and_one_bank",
        "A table as banks send it.",
        "empty cells, a constant and a running number",
        gaps,
        "accuracy",
        0.8,
    ),
    Healthy(
        "long_tail_of_claims", "Some damages are huge.", "outliers, under absolute errors", claims, "spearman", 0.85
    ),
    Healthy("seldom_a_musical", "Films of five genres.", "one label is rare", seldom_musical, "f1", 0.85),
    Healthy("weather_and_warmth", "Two answers at once.", "a class and a number", towns_and_weather, "loss", 0.3),
    Healthy(
        "muon_for_letters",
        "The new optimizer.",
        "Muon",
        lambda folder: data.glyphs(folder) | {"optimizer.kind": "muon", "optimizer.lr": 5e-3},
        "accuracy",
        0.97,
    ),
    Healthy(
        "three_waves",
        "The rate rises again twice.",
        "warm restarts",
        lambda folder: (
            data.dials(folder) | {"schedule.kind": "cosine_restarts", "schedule.t_0": "5 epochs", "loop.epochs": 15}
        ),
        "r2",
        0.98,
    ),
    Healthy(
        "blended_letters",
        "MixUp and smooth labels.",
        "the training loss stays high",
        lambda folder: (
            data.glyphs(folder) | {"dataset.mixup_alpha": 0.2, "objective.label_smoothing": 0.1, "loop.epochs": 12}
        ),
        "accuracy",
        0.97,
    ),
    Healthy(
        "three_batches_of_four_roads",
        "Three small batches make one step.",
        "accumulation, with group norm",
        lambda folder: (
            data.roads(folder)
            | {"loop.batch_size": 4, "loop.accumulation": 3, "model.norm": "group", "loop.epochs": 15}
        ),
        "mean_iou",
        0.9,
    ),
    Healthy(
        "listens_to_the_end",
        "A GRU over recordings.",
        "sigmoids and tanh inside",
        with_network(lambda folder: data.signals(folder, count=3200) | {"loop.epochs": 14}, LISTENER),
        "accuracy",
        0.9,
    ),
    Healthy(
        "time_comes_first",
        "torch's own order of axes.",
        "time and batch change places, and back",
        with_network(data.signals, SEQUENCE_FIRST),
        "accuracy",
        0.9,
    ),
    Healthy(
        "random_features_on_purpose",
        "Random features and a linear layer.",
        "most numbers are never trained",
        with_network(data.moons, FOURIER),
        "accuracy",
        0.97,
    ),
    Healthy(
        "twelve_blocks_from_zero",
        "Each block begins as nothing.",
        "weights that begin at zero",
        with_network(lambda folder: data.grains(folder, count=5000) | {"loop.epochs": 8}, REZERO),
        "accuracy",
        0.92,
    ),
)
