"""Columns that alone predict the target, and columns that name the rows; and tables in which nothing is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.training.doctor.tables import ROWS, Columns, honest, look, table_config
from training.doctor import preflight
from training.doctor.quick import warn_before_start
from training.engine.runs.run import Hooks, start_run
from training.events import Event, Finding

Change = Callable[[dict[str, np.ndarray]], Columns]
NUMBERS = np.random.default_rng(9)
YES = honest()["y"] == "yes"
SCORE = honest()["a"] + honest()["b"]
VALUES = {**honest(), "y": np.exp(SCORE)}


def noisy(labels: np.ndarray, share: float) -> np.ndarray:
    return np.where(NUMBERS.random(ROWS) < share, ~labels, labels)


@pytest.mark.parametrize(
    "leak",
    [
        pytest.param(np.where(YES, "A", "B"), id="other names"),
        pytest.param(YES.astype(int), id="codes"),
        pytest.param(noisy(YES, 0.002), id="nearly all"),
        pytest.param(SCORE * 100, id="the number it was cut from"),
        pytest.param(np.where(YES, "2024-03-01", "2024-02-11"), id="dates"),
        pytest.param([f"note {n % 8}{'+' if yes else '-'}" for n, yes in enumerate(YES)], id="texts"),
    ],
)
def test_a_column_that_alone_tells_the_class(tmp_path: Path, leak: np.ndarray) -> None:
    found = look(tmp_path, {"leak": leak, **honest()}, "y")
    [key] = [key for key in found if key.startswith("table.target_leak")]
    assert found[key].place.startswith("leak")
    assert found[key].fix == {"dataset.ignored": ["leak"]}
    assert found[key].evidence["skill"] >= 0.98  # type: ignore[operator]
    assert not look(tmp_path, {"leak": leak, **honest()}, "y", "dataset.ignored=leak")


def test_a_column_that_is_known_only_with_the_class(tmp_path: Path) -> None:
    """Who is treated is sick, and few of the sick are not treated."""
    treated = YES & (np.random.default_rng(4).random(ROWS) < 0.96)
    assert list(look(tmp_path, {"treated": treated.astype(int), **honest()}, "y")) == ["table.target_leak:treated"]


def test_rows_of_one_thing_whatever_its_column_is_called(tmp_path: Path) -> None:
    """Rows that are like no others than those of their cow; and a column that says nothing of the others."""
    numbers = np.random.default_rng(5)
    cow = np.repeat(np.arange(60), 6)
    means, lame = numbers.normal(size=(60, 3)), numbers.integers(0, 2, 60)
    walks = means[cow] + numbers.normal(0, 0.05, (len(cow), 3))
    names = np.array([f"c{each}" for each in cow])
    columns = {"a": walks[:, 0], "b": walks[:, 1], "c": walks[:, 2], "y": np.where(lame[cow], "yes", "no")}
    found = look(tmp_path, {"cow": names, **columns}, "y", "dataset.ignored=cow")
    assert dict(found["split.time_or_group:cow"].fix) == {"dataset.group_column": "cow", "dataset.ignored": []}
    assert not look(tmp_path, {"cow": numbers.permutation(names), **columns}, "y", "dataset.ignored=cow")


def test_a_column_from_which_the_value_was_computed(tmp_path: Path) -> None:
    columns = {"leak": np.exp(SCORE) * 1.19 + 3, **VALUES}
    assert list(look(tmp_path, columns, "y")) == ["table.target_leak:leak"]
    [found] = look(tmp_path, columns, "y", 'dataset.features=["a", "leak"]').values()
    assert found.fix == {"dataset.features": ["a"]}


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param(honest(), id="classes"),
        pytest.param(VALUES, id="values"),
        pytest.param({**honest(), "c": noisy(YES, 0.05)}, id="a strong column"),
        pytest.param(
            {"a": 10 * YES + NUMBERS.normal(size=ROWS), "b": 10 * YES + NUMBERS.normal(size=ROWS), "y": honest()["y"]},
            id="an easy task",
        ),
        pytest.param({"a": SCORE, "y": np.exp(SCORE)}, id="one column is all there is"),
        pytest.param({"a": SCORE, "b": honest()["b"], "y": np.sin(3 * SCORE)}, id="a curve"),
        pytest.param(
            {**honest(), "y": np.where(np.arange(ROWS) % 100 == 7, "rare", "usual")}, id="a class of four rows"
        ),
        pytest.param({**honest(), "age": np.arange(ROWS) + 3}, id="rows by age"),
        pytest.param({**honest(), "year": np.arange(ROWS) + 1601}, id="years"),
        pytest.param({**honest(), "income": NUMBERS.permutation(10**6)[:ROWS]}, id="amounts that all differ"),
        pytest.param({**honest(), "c": np.where(np.arange(ROWS) == 11, 1e6, honest()["a"])}, id="an outlier"),
        pytest.param({**honest(), "id": NUMBERS.integers(0, 40, ROWS)}, id="a code called id"),
    ],
)
def test_nothing_is_said_of_honest_columns(tmp_path: Path, columns: Columns) -> None:
    found = look(tmp_path, columns, "y", "loader.sampling=balanced" if "rare" in columns["y"] else "seed=0")
    assert not [key for key in found if key.startswith(("table.", "data.scale"))]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("customer_id", NUMBERS.permutation(10**6)[:ROWS]),
        ("rowID", NUMBERS.permutation(10**6)[:ROWS]),
        ("record", np.arange(ROWS)[::-1] * 1 + 5000),
    ],
)
def test_a_column_that_names_the_rows(tmp_path: Path, name: str, values: np.ndarray) -> None:
    columns = {name: values, **honest()}
    [found] = look(tmp_path, columns, "y", "dataset.uninformative=keep").values()
    assert (found.code, found.place, found.fix) == ("table.identifier", name, {"dataset.ignored": [name]})
    assert not look(tmp_path, columns, "y", f"dataset.keep_columns={name}")


def test_rows_of_one_person_in_both_parts(tmp_path: Path) -> None:
    person = np.arange(ROWS) // 8
    alike = {
        **honest(),
        "patient": person,
        "y": np.where(np.random.default_rng(1).random(50)[person] > 0.5, "sick", "well"),
    }
    [found] = look(tmp_path, alike, "y").values()
    assert (found.key, found.fix) == ("split.time_or_group:patient", {"dataset.group_column": "patient"})
    assert not look(tmp_path, alike, "y", "dataset.group_column=patient")
    assert not look(tmp_path, {**honest(), "patient": person}, "y"), "the rows of one are no more alike than others"
    [unused] = look(tmp_path, alike, "y", 'dataset.ignored=["patient"]').values()
    assert unused.fix == {"dataset.group_column": "patient", "dataset.ignored": []}
    named: Columns = {
        **{name: values for name, values in alike.items() if name != "patient"},
        "visit": [f"v{n}" for n in person],
    }
    [chosen] = look(tmp_path, named, "y", 'dataset.features=["a", "b"]').values()
    assert chosen.fix == {"dataset.group_column": "visit"}


def test_a_muted_column_is_not_told_again(tmp_path: Path) -> None:
    columns = {"leak": YES.astype(int), **honest()}
    for muted, told in (("table.target_leak:leak", False), ("table.target_leak:b", True)):
        config = table_config(tmp_path, columns, "y", f'muted_findings=["{muted}"]')
        assert any(item.code == "table.target_leak" for item in preflight(config, tmp_path / "w")) is told


def test_a_run_says_it_before_its_first_step_and_is_the_same_run(tmp_path: Path) -> None:
    config = table_config(tmp_path, {"leak": YES.astype(int), **honest()}, "y")
    plain, judged = list[Event](), list[Event]()
    first = start_run(config, tmp_path / "w", Hooks(watch=plain.append))
    second = start_run(config, tmp_path / "w", Hooks(watch=judged.append, judge=warn_before_start))
    [found] = [event for event in judged if isinstance(event, Finding)]
    assert (found.key, found.level, found.step) == ("table.target_leak:leak", "warning", 0)
    assert judged.index(found) < [event.kind for event in judged].index("attempt_started")
    assert not [event for event in plain if isinstance(event, Finding)]
    weights = [(Path(record.folder) / "checkpoints").glob("*/model.safetensors") for record in (first, second)]
    one, other = ([file.read_bytes() for file in sorted(files)] for files in weights)
    assert len(one) > 1
    assert one == other, "to the bit"


def test_rows_that_are_like_those_before_and_after_them(tmp_path: Path) -> None:
    days = (np.datetime64("2024-01-01") + np.arange(ROWS)).astype(str)
    wandering = {"day": days, **VALUES, "y": np.cumsum(np.random.default_rng(1).normal(size=ROWS))}
    found = look(tmp_path, wandering, "y")
    assert found["split.time_or_group:day"].fix == {"dataset.time_column": "day"}
    assert not look(tmp_path, wandering, "y", "dataset.time_column=day")
    assert not look(tmp_path, {"day": days, **VALUES}, "y")
    numbered = {**wandering, "day": np.arange(ROWS)}
    [told] = look(tmp_path, numbered, "y", 'dataset.features=["a", "day"]').values()
    assert told.fix == {"dataset.time_column": "day", "dataset.features": ["a"]}
    assert not look(tmp_path, {**numbered, "day": np.arange(ROWS) // 9}, "y", 'dataset.features=["a", "day"]')
