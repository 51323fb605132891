"""Data: columns, scales, labels and parts, of tables, images and own Datasets."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tests.doctor.zoo.builders.bases import changed, pumps, wines
from tests.doctor.zoo.case import Case, Fix, Harm, Settings, by_settings, has, one_of
from tests.doctor.zoo.draws import Columns, masks, shapes, write_table

Edit = Callable[[Columns, np.random.Generator], Columns]


def read_columns(path: Path) -> Columns:
    """Of a table: numbers where they are such."""
    with path.open(newline="") as stream:
        names, *rows = csv.reader(stream)
    columns: Columns = {}
    for name, cells in zip(names, zip(*rows, strict=True), strict=True):
        values: NDArray[Any] = np.array(cells)
        try:
            columns[name] = values.astype(float)
        except ValueError:
            columns[name] = values
    return columns


def by_rows(
    base: Callable[[Path], Settings], file: str, fault: Edit, fresh: int = 0, cure: Settings | None = None
) -> Callable[[Path, bool], Settings]:
    """A fault in the table's rows; the twin has none of it, or where there is a ``cure`` the same rows and these settings. The last
    ``fresh`` rows, as they are without the fault, are set aside."""

    def write(folder: Path, faulty: bool) -> Settings:
        settings = base(folder)
        columns = read_columns(folder / file)
        count = len(next(iter(columns.values()))) - fresh
        kept = {name: values[:count] for name, values in columns.items()}
        held = {name: values[count:] for name, values in columns.items()}
        rows = fault(kept, np.random.default_rng(41)) if faulty or cure else kept
        if fresh:
            # columns that the fault brought: what is known of new samples when they are asked about, nothing
            unknown = {name: np.full(fresh, "") for name in rows if name not in held}
            write_table(folder / "fresh.csv", {name: (held | unknown)[name] for name in rows})
        write_table(folder / file, rows)
        return settings if faulty else settings | (cure or {})

    return write


def leak(columns: Columns, draws: np.random.Generator) -> Columns:
    """A column that is filled in once the state is known."""
    words = {"sound": "none", "worn": "bearing", "blocked": "filter"}
    return {"spare_part": np.array([words[str(state)] for state in columns["state"]]), **columns}


def leak_number(columns: Columns, draws: np.random.Generator) -> Columns:
    """The price with tax."""
    return {"with_tax": columns["price"] * 1.19 + draws.normal(0, 0.001, len(columns["price"])), **columns}


def sorted_with_number(columns: Columns, draws: np.random.Generator) -> Columns:
    """Rows sorted by state and numbered: the number tells the state, which the other two columns that are left hardly do."""
    columns = {name: columns[name] for name in ("heat", "volts", "state")}
    order = np.argsort(columns["state"], kind="stable")
    ordered = {name: values[order] for name, values in columns.items()}
    ticket = 48211 + np.arange(len(order)) * 3 + draws.integers(0, 3, len(order))
    shuffled = draws.permutation(len(order))
    return {name: values[shuffled] for name, values in {"ticket": ticket, **ordered}.items()}


def contradict(columns: Columns, draws: np.random.Generator) -> Columns:
    """A third of the rows is there twice, with another state."""
    count = len(columns["state"])
    places = draws.choice(count, count // 3, replace=False)
    other = {"sound": "worn", "worn": "blocked", "blocked": "sound"}
    twice = {name: np.concatenate([values, values[places]]) for name, values in columns.items()}
    twice["state"] = np.concatenate([columns["state"], [other[str(state)] for state in columns["state"][places]]])
    order = draws.permutation(len(twice["state"]))
    return {name: values[order] for name, values in twice.items()}


def relabel(share: float) -> Edit:
    """``share`` of the labels is drawn from the others."""

    def edit(columns: Columns, draws: np.random.Generator) -> Columns:
        states = np.array(["sound", "worn", "blocked"])
        wrong = draws.random(len(columns["state"])) < share
        turned = draws.integers(1, 3, len(wrong))
        numbers = np.array([int(np.flatnonzero(states == state)[0]) for state in columns["state"]])
        return columns | {"state": np.where(wrong, states[(numbers + turned) % 3], columns["state"])}

    return edit


def shift(columns: Columns, draws: np.random.Generator) -> Columns:
    """The column slipped by one row."""
    return columns | {"state": np.roll(columns["state"], 1)}


def rare(columns: Columns, draws: np.random.Generator) -> Columns:
    """Few of one class are left."""
    kept = (columns["state"] != "worn") | (draws.random(len(columns["state"])) < 0.02)
    kept[: int(0.9 * len(kept))] &= columns["state"][: int(0.9 * len(kept))] != "blocked"
    return {name: values[kept] for name, values in columns.items()}


def strange_masks(folder: Path, faulty: bool) -> Settings:
    """Masks of 0 and 255, of which the second is no class."""
    settings = changed(lambda place: masks(place, count=60), {"loop.epochs": 6})(folder)
    if faulty:
        for path in sorted((folder / "scans" / "masks").iterdir())[::3]:
            content = np.asarray(Image.open(path))
            Image.fromarray((content * 7).astype(np.uint8)).save(path)
    return settings


def cents(folder: Path) -> Settings:
    """Wines, whose prices are in cents."""
    settings = wines(folder)
    columns = read_columns(folder / "wines.csv")
    write_table(folder / "wines.csv", columns | {"price": 100 * columns["price"]})
    return settings


def large(folder: Path) -> Settings:
    """Shapes in images of 40 pixels."""
    return shapes(folder, each=100, side=40, seed=13) | {"model.channels": [12, 24], "loop.epochs": 10}


CASES = (
    Case(
        "pumps_leak",
        "data",
        "The state of a pump is predicted without a single error.",
        "The column spare_part is filled in by the one who has repaired it.",
        by_rows(changed(pumps, {"model.kind": "tabular"}), "pumps.csv", leak, 300, {"dataset.ignored": ["spare_part"]}),
        ("target leak",),
        (Fix("Leave the column out.", {"dataset.ignored": has("spare_part")}),),
        Harm("accuracy", 0.05, by="claim"),
    ),
    Case(
        "wines_leak",
        "data",
        "Prices of wine with an R2 of 1.",
        "The column with_tax is the price times 1.19.",
        by_rows(wines, "wines.csv", leak_number, 300, {"dataset.ignored": ["with_tax"]}),
        ("target leak",),
        (Fix("Leave the column out.", {"dataset.ignored": has("with_tax")}),),
        Harm("r2", 0.1, by="claim"),
    ),
    Case(
        "pumps_ticket",
        "data",
        "Pumps with the number of the service ticket.",
        "The column is kept on purpose. Tickets were given state by state, so that the number tells the state, and will not for new pumps.",
        by_rows(
            changed(pumps, {"loop.epochs": 25, "model.hidden": [96, 96], "dataset.keep_columns": ["ticket"]}),
            "pumps.csv",
            sorted_with_number,
            300,
            {"dataset.keep_columns": []},
        ),
        ("identifier as feature", "target leak"),
        (
            Fix("Leave the column out.", {"dataset.ignored": has("ticket")}),
            Fix("Leave it out as usual.", {"dataset.keep_columns": lambda value: not value}),
        ),
        Harm("accuracy", 0.1, by="claim"),
    ),
    Case(
        "pumps_conflicts",
        "labels",
        "Two tables of two departments, put together.",
        "A third of the rows is there twice, with different states.",
        by_rows(pumps, "pumps.csv", contradict),
        ("conflicting labels",),
        (Fix("Mend the rows.", names=("state", "label", "rows")),),
        Harm("accuracy", 0.08),
    ),
    Case(
        "pumps_noisy",
        "labels",
        "The states were typed by many hands.",
        "Every third label is wrong.",
        by_rows(pumps, "pumps.csv", relabel(0.33)),
        ("noisy labels", "wrong labels"),
        (Fix("Look at the labels.", names=("label", "labels")),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "pumps_shifted",
        "labels",
        "A column pasted into a table.",
        "All states slipped by one row.",
        by_rows(pumps, "pumps.csv", shift),
        ("shifted labels", "wrong labels"),
        (Fix("Move the column.", names=("state", "label", "row", "order")),),
        Harm("accuracy", 0.3),
    ),
    Case(
        "pumps_rare",
        "data",
        "Most pumps are sound.",
        "Of one state there are 8 rows, of the other 40, of 400: the network never answers them.",
        by_rows(
            changed(pumps, {"loop.epochs": 12, "optimizer.lr": 2e-3}),
            "pumps.csv",
            rare,
            300,
            {"objective.balanced": True},
        ),
        ("class imbalance",),
        (
            Fix("Weigh the classes.", {"objective.balanced": one_of(True)}),
            Fix("Draw them evenly.", {"loader.sampling": one_of("balanced")}),
        ),
        Harm("accuracy", 0.15, by="fresh"),
    ),
    Case(
        "scans_strange_masks",
        "labels",
        "Masks from two programs.",
        "A third of the masks says 7 where the others say 1.",
        strange_masks,
        ("labels out of range", "wrong labels", "conflicting labels"),
        (Fix("One number for each class.", names=("7", "mask", "masks")), Fix("", {"dataset.ignore_index": one_of(7)})),
        Harm("mean_iou", 0.1),
    ),
    Case(
        "figures_small",
        "preprocessing",
        "Images made small, that it may be quick.",
        "8 pixels of 40: a ring is no ring any more.",
        by_settings(large, {"dataset.image_size": 8}),
        ("images too small",),
        (Fix("Larger images.", {"dataset.image_size": lambda value: value is None or value >= 16}),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "wines_raw_targets",
        "preprocessing",
        "Prices in cents.",
        "Targets of some thousands that are not standardized, with plain gradient descent.",
        by_settings(changed(cents, {"optimizer.kind": "sgd", "optimizer.lr": 0.02}), {"objective.standardise": False}),
        ("unscaled targets",),
        (Fix("Standardize.", {"objective.standardise": one_of(True)}),),
        Harm("r2", 0.02),
    ),
)
