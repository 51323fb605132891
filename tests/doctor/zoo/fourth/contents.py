"""What stands in the data: labels, columns, parts and how much of it is kept for validation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, by_settings, has, lacks, one_of
from tests.doctor.zoo.draws import Columns, draw_shapes, take, write_table
from tests.doctor.zoo.fourth.data import (
    COSINE,
    concrete,
    draw_concrete,
    draw_minerals,
    draw_trains,
    minerals,
    pieces,
    trains,
)


def _mixed_up(folder: Path, faulty: bool) -> Settings:
    """Most was entered by somebody who took two minerals for each other."""
    settings = minerals(folder, 2200, 31)
    write_table(folder / "fresh.csv", draw_minerals(600, 32))
    if faulty:
        columns = draw_minerals(2200, 31)
        names = columns["mineral"].copy()
        late = np.arange(2200) >= 900
        names[late & (columns["mineral"] == "gypsum")] = "barite"
        names[late & (columns["mineral"] == "barite")] = "gypsum"
        write_table(folder / "minerals.csv", columns | {"mineral": names})
    return settings


def _guessed(folder: Path, faulty: bool) -> Settings:
    """Four in ten pictures got a folder by chance."""
    settings = pieces(folder, 200, 16, 61, 4, 15.0)
    if not faulty:
        return settings
    draws = np.random.default_rng(62)
    kinds = sorted(place.name for place in (folder / "pieces").iterdir())
    for file in sorted((folder / "pieces").glob("*/*.png")):
        if draws.random() < 0.45:
            file.rename(folder / "pieces" / str(draws.choice(kinds)) / f"{file.parent.name}_{file.name}")
    return settings


def _off_by_a_row(folder: Path, faulty: bool) -> Settings:
    settings = concrete(folder, 1700, 33)
    if faulty:
        columns = draw_concrete(1700, 33)
        write_table(folder / "concrete.csv", columns | {"strength_mpa": np.roll(columns["strength_mpa"], 1)})
    return settings


def _two_answers(folder: Path, faulty: bool) -> Settings:
    """Each sample was measured once, and judged by two persons who have another notion of it."""
    settings = minerals(folder, 1800, 34, 3)
    columns = draw_minerals(1800, 34, 3)
    if faulty:
        second = np.where(columns["mineral"] == "quartz", "calcite", columns["mineral"])
        twice = np.arange(1800) < 900
        columns = {
            name: np.concatenate([values, (second if name == "mineral" else np.asarray(values))[twice]])
            for name, values in columns.items()
        }
        write_table(folder / "minerals.csv", take(columns, np.random.default_rng(1).permutation(2700)))
    return settings


def _oversampled(folder: Path, faulty: bool) -> Settings:
    """Late trains, few, are repeated so that there are as many as others, and only then split."""
    settings = trains(folder, 1800, 36, -2.4, 1.5) | {
        "dataset.validation_fraction": 0.25,
        "optimizer.lr": 3e-3,
        "loop.epochs": 16,
        "model.hidden": [64, 64],
    }
    columns = draw_trains(1800, 36, -2.4, 1.5)
    write_table(folder / "fresh.csv", draw_trains(1500, 37, -2.4, 1.5))
    if faulty:
        draws = np.random.default_rng(2)
        late = np.flatnonzero(columns["late"] == "yes")
        rows = np.concatenate([np.arange(1800), draws.choice(late, 1800 - 2 * len(late))])
        write_table(folder / "trains.csv", take(columns, draws.permutation(rows)))
    else:
        settings["loader.sampling"] = "balanced"
    return settings


def _draw_steps(persons: int, each: int, seed: int) -> Columns:
    """Walks of persons, each of whom has an own gait that tells the person, and a mood that is to be told."""
    draws = np.random.default_rng(seed)
    gait = np.repeat(draws.normal(0, 1, (persons, 6)), each, axis=0)
    mood = np.repeat(draws.integers(0, 2, persons), each)
    values = gait + draws.normal(0, 0.12, gait.shape)
    values[:, 0] += 1.5 * (mood - 0.5)
    names = ("stride", "cadence", "sway", "lift", "width", "pause")
    return {
        "walker": [f"w{seed}_{row // each}" for row in range(persons * each)],
        **{name: values[:, place] for place, name in enumerate(names)},
        "mood": np.where(mood == 1, "glad", "sad"),
    }


def _walkers(folder: Path) -> Settings:
    write_table(folder / "walks.csv", _draw_steps(300, 10, 71))
    write_table(folder / "fresh.csv", _draw_steps(150, 4, 72))
    return {
        "dataset.kind": "table",
        "dataset.path": "walks.csv",
        "dataset.targets": ["mood"],
        "dataset.group_column": "walker",
        "dataset.validation_fraction": 0.3,
        "model.kind": "tabular",
        "model.hidden": [64, 64],
        "objective.kind": "binary",
        "loop.epochs": 40,
        "loop.batch_size": 32,
        "loop.early_stopping_patience": 2,
        "checkpoints.monitor": "val/loss",
        "optimizer.kind": "adamw",
        "optimizer.lr": 5e-4,
    }


def _ungrouped(folder: Path, faulty: bool) -> Settings:
    settings = _walkers(folder)
    if faulty:
        settings.pop("dataset.group_column")
        settings["dataset.ignored"] = ["walker"]
    return settings


def _refunded(folder: Path, faulty: bool) -> Settings:
    """What was paid back to passengers is known only once the train was late."""
    settings = trains(folder, 2500, 38)
    columns = draw_trains(2500, 38)
    if faulty:
        late = columns["late"] == "yes"
        refund = np.where(late, np.random.default_rng(3).uniform(2, 40, 2500), 0.0)
        write_table(folder / "trains.csv", {"refund_eur": refund} | columns)
    fresh = draw_trains(800, 39)
    write_table(folder / "fresh.csv", ({"refund_eur": np.zeros(800)} if faulty else {}) | fresh)
    return settings


def _numbered(folder: Path, faulty: bool) -> Settings:
    """Rows were numbered mineral by mineral."""
    settings = minerals(folder, 2000, 40)
    columns, fresh = draw_minerals(2000, 40), draw_minerals(600, 41)
    if faulty:
        order = np.argsort(columns["mineral"], kind="stable")
        numbers = np.arange(2000) + 10_000
        columns = {"sample_no": numbers} | take(columns, order)
        fresh = {"sample_no": np.random.default_rng(4).integers(10_000, 12_000, 600)} | fresh
        settings |= {"dataset.keep_columns": ["sample_no"]}
    write_table(folder / "minerals.csv", columns)
    write_table(folder / "fresh.csv", fresh)
    return settings


def _rare(folder: Path) -> Settings:
    """One mineral among a hundred, not easy to tell."""
    columns = draw_minerals(20_000, 42, 2)
    draws = np.random.default_rng(5)
    ordinary = np.flatnonzero(columns["mineral"] == "quartz")[:8000]
    rare = np.flatnonzero(columns["mineral"] == "calcite")[:200]
    values = take(columns, draws.permutation(np.concatenate([ordinary, rare])))
    values["mineral"] = np.where(values["mineral"] == "calcite", "rare", "common")
    for name in ("hardness", "density", "luster", "reflectance", "streak", "cleavage"):
        values[name] = values[name] + draws.normal(0, 0.55, len(values[name])) * np.std(values[name])
    write_table(folder / "survey.csv", values)
    return {
        "dataset.kind": "table",
        "dataset.path": "survey.csv",
        "dataset.targets": ["mineral"],
        "dataset.validation_fraction": 0.3,
        "model.kind": "tabular",
        "model.hidden": [24],
        "objective.kind": "binary",
        "loop.epochs": 8,
        "loop.batch_size": 128,
        **COSINE,
    }


def _few(folder: Path) -> Settings:
    settings = trains(folder, 1500, 44)
    write_table(folder / "fresh.csv", draw_trains(1500, 45))
    return settings


def _copied_pictures(folder: Path, faulty: bool) -> Settings:
    """Every picture stands there three times, as the download was begun anew."""
    settings = pieces(folder, 60 if faulty else 180, 16, 64, 5, 55.0) | {"loop.epochs": 12}
    if faulty:
        for file in sorted((folder / "pieces").glob("*/*.png")):
            for number in (1, 2):
                file.with_name(f"{file.stem} ({number}).png").write_bytes(file.read_bytes())
    for kind, images in draw_shapes(80, 16, 5, 65, 55.0).items():
        (folder / "fresh" / kind).mkdir(parents=True)
        for number, pixels in enumerate(images):
            Image.fromarray(pixels).save(folder / "fresh" / kind / f"{number:03}.png")
    return settings


CASES = (
    Case(
        "gypsum_taken_for_barite",
        "labels",
        "A colleague entered the rows from 900 on.",
        "from row 900 on gypsum and barite have changed names",
        _mixed_up,
        ("wrong labels", "noisy labels", "conflicting labels"),
        (Fix("Mend the labels.", names=("gypsum", "barite", "mineral", "minerals.csv")),),
        Harm("accuracy", 0.1, "fresh"),
    ),
    Case(
        "sorted_by_a_tired_hand",
        "labels",
        "The pictures were sorted in one night.",
        "45 % of the pictures lie in a folder drawn by chance",
        _guessed,
        ("noisy labels", "wrong labels"),
        (Fix("Sort them again.", names=("label", "pieces", "folder")),),
        Harm("accuracy", 0.15),
    ),
    Case(
        "strength_of_the_cube_before",
        "labels",
        "I joined two tables and learned nothing since.",
        "each row has the strength of the row before",
        _off_by_a_row,
        ("shifted labels", "wrong labels"),
        (Fix("Join them anew.", names=("strength_mpa", "concrete.csv", "shift")),),
        Harm("r2", 0.4),
    ),
    Case(
        "two_experts_one_stone",
        "labels",
        "Two experts judged half of the stones each, and some both.",
        "900 rows stand there twice, quartz being calcite for the second expert",
        _two_answers,
        ("conflicting labels", "noisy labels", "wrong labels", "duplicates across parts"),
        (Fix("Keep one answer for each stone.", names=("mineral", "quartz", "calcite", "minerals.csv")),),
        Harm("accuracy", 0.08),
    ),
    Case(
        "repeated_before_the_split",
        "splits",
        "I oversampled the late trains until both classes were as large; then accuracy was great.",
        "copies of the same rows are in training and in validation",
        _oversampled,
        ("duplicates across parts",),
        (
            Fix("Oversample after the split.", names=("trains.csv", "duplicate", "copies")),
            Fix("Leave copies out of validation.", {"dataset.duplicates": one_of("drop_from_validation")}),
        ),
        Harm("f1", 0.12, "claim"),
    ),
    Case(
        "moods_of_known_walkers",
        "splits",
        "With people it has never seen it is hardly better than a coin.",
        "each person's walks are in both parts",
        _ungrouped,
        ("groups across parts",),
        (Fix("Split by person.", {"dataset.group_column": one_of("walker")}),),
        Harm("accuracy", 0.12, "claim"),
    ),
    Case(
        "downloaded_three_times",
        "splits",
        "Validation says 99 %, and my own photos say otherwise.",
        "every picture stands there three times, and its copies are in both parts",
        _copied_pictures,
        ("duplicates across parts",),
        (
            Fix("Delete the copies.", names=("(1)", "(2)", "duplicate", "copies")),
            Fix("Leave copies out of validation.", {"dataset.duplicates": one_of("drop_from_validation")}),
        ),
        Harm("accuracy", 0.1, "claim"),
    ),
    Case(
        "paid_back_when_late",
        "data",
        "It is always right, until it is asked about tomorrow.",
        "a refund is paid only for late trains",
        _refunded,
        ("target leak",),
        (
            Fix("Leave the column out.", {"dataset.ignored": has("refund_eur")}),
            Fix("Take it out of the table.", names=("refund_eur",)),
            Fix("Leave the column out.", {"dataset.features": lacks("refund_eur")}),
        ),
        Harm("accuracy", 0.15, "claim"),
    ),
    Case(
        "drawer_by_drawer",
        "data",
        "The stones were numbered as they lay in the drawers.",
        "the running number, by which the table was sorted by mineral, is a feature",
        _numbered,
        ("identifier as feature", "target leak"),
        (
            Fix("Do not keep it.", {"dataset.keep_columns": lambda value: not value}),
            Fix("Leave the column out.", {"dataset.ignored": has("sample_no")}),
            Fix("Leave the column out.", {"dataset.features": lacks("sample_no")}),
        ),
        Harm("accuracy", 0.15, "claim"),
    ),
    Case(
        "two_in_a_hundred_stones",
        "data",
        "98 % are right, and the rare mineral is never found.",
        "one class has 2 % of the rows, and nothing makes up for that",
        lambda folder, faulty: _rare(folder) | ({} if faulty else {"loader.sampling": "balanced"}),
        ("class imbalance", "class weights"),
        (
            Fix("Sample in balance.", {"loader.sampling": one_of("balanced")}),
            Fix("Balance the loss.", {"objective.balanced": one_of(True)}),
            Fix("Weigh the rare class.", {"objective.pos_weight": between(3, 200)}),
            Fix("Take another threshold.", {"objective.threshold": between(0.01, 0.35)}),
        ),
        Harm("recall", 0.3),
    ),
    Case(
        "judged_by_six_trains",
        "validation",
        "All validated trains are right, so it is perfect.",
        "0.4 % of 1500 rows are validated: six",
        by_settings(_few, {"dataset.validation_fraction": 0.004, "dataset.split_seed": 3}),
        ("validation too small",),
        (Fix("Validate more.", {"dataset.validation_fraction": between(0.08, 0.5)}),),
        Harm("accuracy", 0.08, "claim"),
    ),
)
