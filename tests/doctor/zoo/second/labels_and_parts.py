"""Labels that are wrong, and parts that are not apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, has, one_of
from tests.doctor.zoo.draws import ADAM, Columns, take, write_table
from tests.doctor.zoo.edit import edit
from tests.doctor.zoo.second import data, samples

CNN: Settings = {
    "model.kind": "small_cnn",
    "model.channels": [16, 32],
    "model.hidden": 64,
    "objective.kind": "classification",
    "loop.batch_size": 32,
    **ADAM,
}


def listed_otherwise(folder: Path, faulty: bool) -> Settings:
    """Scans 1 to 900 and a list of their letters; file names sort as 1, 10, 100."""
    images, kinds = samples.draw_glyphs(900, seed=8)
    (folder / "scans").mkdir()
    for number, pixels in enumerate(images):
        Image.fromarray(pixels).save(folder / "scans" / f"scan{number}.png")
    order = sorted(range(900), key=lambda number: f"scan{number}.png")
    names = [f"scans/scan{number}.png" for number in order]
    letters = np.array(list(samples.GLYPHS))[kinds if faulty else kinds[order]]
    write_table(folder / "scans.csv", {"file": names, "letter": letters})
    return {
        **CNN,
        "dataset.kind": "image_table",
        "dataset.path": "scans.csv",
        "dataset.targets": ["letter"],
        "dataset.color": "grey",
        "loop.epochs": 12,
    }


def write_letters(folder: Path, images: samples.Array, kinds: samples.Array) -> None:
    for number, (pixels, kind) in enumerate(zip(images, kinds, strict=True)):
        place = folder / f"letter-{list(samples.GLYPHS)[kind]}"
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(place / f"{number:04}.png")


def in_the_wrong_folder(folder: Path, faulty: bool) -> Settings:
    """Someone took many an H for an N."""
    images, kinds = samples.draw_glyphs(2000, seed=9, kinds=7)
    taken = (kinds == 2) & (np.random.default_rng(1).random(2000) < 0.5)
    write_letters(folder / "letters", images, np.where(taken & faulty, 6, kinds))
    write_letters(folder / "fresh", *samples.draw_glyphs(350, seed=10, kinds=7))
    return {
        **CNN,
        "dataset.kind": "image_folder",
        "dataset.path": "letters",
        "dataset.color": "grey",
        "loop.epochs": 10,
    }


def guessed_labels(folder: Path, faulty: bool) -> Settings:
    """A third of the labels come from volunteers who clicked anything."""
    settings = data.glyphs(folder)
    if faulty:
        images, kinds = samples.draw_glyphs(2000)
        draws = np.random.default_rng(2)
        guessed = draws.random(2000) < 0.35
        np.savez(folder / "letters.npz", x=images, y=np.where(guessed, draws.integers(0, 6, 2000), kinds))
    return settings


COUNTED = edit(
    data.SIGNALS,
    ("Recordings of four machines.", "Recordings, whose kinds are written as 1, 2, 3 and 4."),
    ('archive["y_" + part]', 'archive["y_" + part] + 1'),
    ("int(self.kinds[index])", "int(self.kinds[index])LESS"),
)


def counted_from_one(folder: Path, faulty: bool) -> Settings:
    return data.signals(folder, text=COUNTED.replace("LESS", "" if faulty else " - 1"))


def copies_of_letters(folder: Path, faulty: bool) -> Settings:
    """A folder into which an older one was copied once more, under other names."""
    images, kinds = samples.draw_glyphs(1800, seed=11, kinds=8, noise=90)
    if faulty:
        images, kinds = np.tile(images[:900], (2, 1, 1)), np.tile(kinds[:900], 2)
    write_letters(folder / "letters", images, kinds)
    write_letters(folder / "fresh", *samples.draw_glyphs(1500, seed=12, kinds=8, noise=90))
    return {
        **CNN,
        "dataset.kind": "image_folder",
        "dataset.path": "letters",
        "dataset.color": "grey",
        "loop.epochs": 8,
    }


def draw_machines(machines: int, seed: int) -> Columns:
    """Eight readings of each machine; the readings of one are much alike, and some machines are worn."""
    draws = np.random.default_rng(seed)
    worn = draws.random(machines) < 0.5
    own = draws.normal(0, 1, (machines, 6))
    own[:, 0] += 1.3 * worn
    own[:, 1] -= 1.0 * worn
    row = np.repeat(np.arange(machines), 8)
    values = own[row] + draws.normal(0, 0.12, (len(row), 6))
    names = ("hum", "heat", "current", "pressure", "tilt", "load")
    return {
        "machine": [f"m{seed}{number:03}" for number in row],
        **{name: values[:, place] for place, name in enumerate(names)},
        "state": np.where(worn[row], "worn", "sound"),
    }


def readings_of_machines(folder: Path, faulty: bool) -> Settings:
    """Who holds out machines sees how little they tell of others, and takes a smaller network for a shorter time."""
    write_table(folder / "readings.csv", draw_machines(300, 1))
    write_table(folder / "fresh.csv", draw_machines(400, 2))
    settings: Settings = {
        "dataset.kind": "table",
        "dataset.path": "readings.csv",
        "dataset.targets": ["state"],
        "model.kind": "tabular",
        "objective.kind": "binary",
        "loop.batch_size": 32,
        **ADAM,
    }
    if faulty:
        return settings | {"dataset.ignored": ["machine"], "model.hidden": [64, 64], "loop.epochs": 25}
    return settings | {"dataset.group_column": "machine", "model.hidden": [16], "loop.epochs": 6}


def draw_sales(days: int, seed: int = 3) -> Columns:
    """Sales of three shops by weather and offers, on a level that comes and goes over months."""
    draws = np.random.default_rng(seed)
    day = np.repeat(np.arange(days), 3)
    level = sum(np.sin(2 * np.pi * (day / period + draws.random())) for period in (110, 160, 210))
    shop = np.tile(["center", "station", "suburb"], days)
    warmth, offer = draws.normal(0, 1, 3 * days), draws.random(3 * days) < 0.3
    sold = 200 + 22 * level + 30 * warmth + 45 * offer + 40 * (shop == "station") + draws.normal(0, 8, 3 * days)
    return {"day": day, "shop": shop, "warmth": warmth, "offer": offer.astype(int), "sold": np.round(sold, 1)}


def days_at_random(folder: Path, faulty: bool) -> Settings:
    table = draw_sales(1200)
    write_table(folder / "sales.csv", take(table, np.arange(2400)))
    write_table(folder / "fresh.csv", take(table, np.arange(2400, 3600)))
    return {
        "dataset.kind": "table",
        "dataset.path": "sales.csv",
        "dataset.targets": ["sold"],
        "model.kind": "tabular",
        "model.hidden": [64, 64],
        "model.frequencies": 6,
        "model.frequency_scale": 1.0,
        "objective.kind": "regression",
        "loop.epochs": 30,
        "loop.batch_size": 32,
        **ADAM,
        "optimizer.lr": 5e-3,
    } | ({} if faulty else {"dataset.time_column": "day"})


def rows_to_validate(share: float, folder: Path) -> Settings:
    table = samples.draw_loans(2200)
    write_table(folder / "fresh.csv", take(table, np.arange(1200, 2200)))
    settings = data.loans(folder)
    write_table(folder / "loans.csv", take(table, np.arange(1200)))
    return settings | {"dataset.validation_fraction": share}


def few_to_validate(folder: Path, faulty: bool) -> Settings:
    return rows_to_validate(0.004 if faulty else 0.2, folder)


def same_to_validate(folder: Path, faulty: bool) -> Settings:
    """x_val was saved from the same variable as x_train."""
    settings = data.glyphs(folder)
    x, y = samples.draw_glyphs(1300, seed=13, kinds=8, noise=80)
    held = (x, y) if faulty else samples.draw_glyphs(500, seed=15, kinds=8, noise=80)
    np.savez(folder / "letters.npz", x_train=x, y_train=y, x_val=held[0], y_val=held[1])
    fresh = samples.draw_glyphs(600, seed=14, kinds=8, noise=80)
    np.savez(folder / "fresh.npz", x=fresh[0], y=fresh[1])
    return settings | {"loop.epochs": 6}


CASES = (
    Case(
        "listed_as_one_ten_hundred",
        "labels",
        "I numbered my scans, and a script made the table of files and letters.",
        "files sorted by name beside labels in the order of numbers",
        listed_otherwise,
        ("wrong labels", "shifted labels", "noisy labels"),
        (Fix("the label of each file", names=("letter", "scans.csv")),),
        Harm("accuracy", 0.3),
    ),
    Case(
        "half_of_h_is_called_n",
        "labels",
        "The letters H and N are mixed up again and again.",
        "half of the images of one class lie in the folder of another",
        in_the_wrong_folder,
        ("wrong labels", "noisy labels"),
        (Fix("sort them anew", names=("letter-H", "letter-N")),),
        Harm("accuracy", 0.04, "fresh"),
    ),
    Case(
        "volunteers_who_guess",
        "labels",
        "Volunteers labeled the letters. Not even seven of ten are recognized.",
        "a third of all labels drawn at random",
        guessed_labels,
        ("noisy labels", "wrong labels"),
        (Fix("look at labels that are unlikely", names=("label", "letters.npz", "exclude")),),
        Harm("accuracy", 0.15),
    ),
    Case(
        "kinds_counted_from_one",
        "labels",
        "Our four kinds of machine are numbered from 1 to 4.",
        "labels from 1 to 4 for four classes",
        counted_from_one,
        ("labels out of range",),
        (Fix("count from 0", names=("recordings.py", "class 4")),),
        Harm("accuracy", 1, "refused"),
    ),
    Case(
        "folder_copied_into_itself",
        "splits",
        "Ninety-odd percent on my computer, far fewer at the post office.",
        "each image is there twice, so most of those validated were trained on",
        copies_of_letters,
        ("duplicates across parts",),
        (
            Fix("take copies out of the validation part", {"dataset.duplicates": one_of("drop_from_validation")}),
            Fix("delete copies", names=("copies", "duplicates")),
        ),
        Harm("accuracy", 0.1, "claim"),
    ),
    Case(
        "readings_of_one_machine",
        "splits",
        "Eight readings of each machine, and nearly all judged right. On new machines it is much worse.",
        "readings of the same machine on both sides",
        readings_of_machines,
        ("groups across parts",),
        (Fix("keep machines together", {"dataset.group_column": one_of("machine")}, names=("machine",)),),
        Harm("accuracy", 0.12, "claim"),
    ),
    Case(
        "days_between_days",
        "splits",
        "The forecast was excellent, until next month came.",
        "days held out at random of a series with a slow level, which the number of the day tells",
        days_at_random,
        ("time across parts",),
        (
            Fix("hold out the newest", {"dataset.time_column": one_of("day")}, names=("day",)),
            Fix("leave the day out", {"dataset.ignored": has("day")}, names=("day",)),
        ),
        Harm("r2", 0.5, "claim"),
    ),
    Case(
        "five_rows_to_validate",
        "validation",
        "I need all rows for training. All five held-out ones are right!",
        "five rows held out of 1,200",
        few_to_validate,
        ("validation too small",),
        (Fix("hold out more", {"dataset.validation_fraction": between(0.1, 0.4)}),),
        Harm("accuracy", 0.08, "claim"),
    ),
    Case(
        "saved_the_same_twice",
        "validation",
        "I saved x_train and x_val. Validation is even a little better than training.",
        "x_val holds the very samples of x_train",
        same_to_validate,
        ("no validation", "duplicates across parts"),
        (
            Fix("hold out some", {"dataset.validation": one_of("split")}),
            Fix("other samples in x_val", names=("x_val", "letters.npz")),
        ),
        Harm("accuracy", 0.04, "claim"),
    ),
)
