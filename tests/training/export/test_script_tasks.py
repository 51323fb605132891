"""Scripts of other tasks and data: the same losses and weights, bit for bit, and the score that the run reports."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.cases import first_of
from tests.training.export.conftest import CPU, Train
from tests.training.export.test_script import assert_same_run, check_source, export, train_by_script
from training.config import RunConfig, apply_overrides, parse_config
from training.errors import InputError, TrainingError
from training.export import export_checkpoint, script
from training.export.bundle import load_bundle
from training.export.listings.listing import render_script
from training.runs.records.manifest import read_manifest

WORDS = "It was a dark and stormy night; the rain fell in torrents, except at occasional intervals. "


def rows_config(path: Path, *overrides: str) -> RunConfig:
    data: dict[str, Any] = {
        "name": "rows",
        "dataset": {"kind": "table", "path": str(path), "targets": ["kind"]},
        "model": {"kind": "tabular", "hidden": [16, 16], "dropout": 0.1},
        "loop": {"epochs": 3, "batch_size": 16},
        "checkpoints": {"every_steps": 4},
    }
    apply_overrides(data, (CPU, *overrides))
    return parse_config(data)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Numbers with gaps, categories with gaps, a class, two labels and two values."""
    draw = np.random.default_rng(0)
    lines = ["size;weight;color;kind;tall;heavy;price;age"]
    for number in range(120):
        size, weight = draw.normal(3, 2), draw.normal(50, 9)
        color = ("red", "green", "", "blue")[number % 4]
        kind = ("oak", "ash", "elm")[int(size > 3) + int(weight > 50)]
        gap = "NA" if number % 17 == 5 else f"{weight:.3f}"
        price = 100 + 20 * size + draw.normal()
        lines.append(f"{size:.4f};{gap};{color};{kind};{int(size > 3)};{int(weight > 50)};{price:.2f};{number % 23}")
    path = tmp_path_factory.mktemp("rows") / "trees.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


FEATURES = 'dataset.features=["size", "weight", "color"]'
TASKS = {
    "classes": (FEATURES,),
    "weighted": (FEATURES, "objective.kind=classification", "objective.class_weights=[1.0, 2.5, 0.5]"),
    "balanced in micro-batches": (
        FEATURES,
        "objective.kind=classification",
        "objective.balanced=true",
        "loop.accumulation=3",
        "loop.ema_decay=0.9",
    ),
    "one class ignored": (
        FEATURES,
        "objective.kind=classification",
        "objective.ignore_index=1",
        "checkpoints.monitor=val/f1",
    ),
    "gaps marked": (FEATURES, "dataset.missing_indicator=true"),
    "values": (FEATURES, 'dataset.targets=["price", "age"]', "dataset.task=values", "objective.kind=regression"),
    "huber in bf16": (
        FEATURES,
        'dataset.targets=["price"]',
        "dataset.task=values",
        "objective.kind=regression",
        "objective.loss=huber",
        "objective.delta=0.5",
        "objective.standardise=false",
        "precision.compute=bf16",
    ),
    "weighted sum": (
        FEATURES,
        'dataset.targets=["price"]',
        "dataset.task=values",
        "objective.kind=regression",
        "objective.loss=weighted_sum",
        "objective.huber_weight=0.25",
        "checkpoints.monitor=val/mae",
        "schedule.kind=plateau",
        "schedule.patience=0",
        "schedule.cooldown=0",
    ),
    "labels": (
        FEATURES,
        'dataset.targets=["tall", "heavy"]',
        "dataset.task=labels",
        "objective.kind=multi_label",
        "objective.balanced=true",
        "checkpoints.monitor=val/auroc",
        "loop.early_stopping_patience=1",
    ),
    "yes or no": (
        FEATURES,
        'dataset.targets=["tall"]',
        "dataset.task=class",
        "objective.kind=binary",
        "objective.pos_weight=3.0",
        "objective.threshold=0.6",
    ),
}


def assert_same_score(checkpoint: Path, printed: str) -> None:
    """The score in the last line of the script, as many digits as it shows."""
    last = [line for line in printed.splitlines() if "validation: loss" in line][-1]
    found = re.search(r"validation: loss ([-\d.]+), .* ([-\d.]+)(%?)(?: \(best\))?$", last)
    assert found, last
    manifest = read_manifest(checkpoint)
    metrics, monitor = manifest.metrics, parse_config(manifest.config, paths=False).checkpoints.monitor
    assert float(found[1]) == pytest.approx(metrics["val/loss"], abs=6e-5)
    names = (monitor, *metrics)
    usual = next(name for name in names if name.startswith("val/") and name != "val/loss")
    digits = len(found[2].partition(".")[2])
    wanted = metrics[usual] * (100 if found[3] else 1)
    assert float(found[2]) == pytest.approx(wanted, abs=0.51 * 10**-digits)


@pytest.mark.parametrize("task", first_of(TASKS))
def test_rows_of_a_table(
    task: str, table: Path, train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = train(rows_config(table, *TASKS[task]))
    file = export(checkpoint, tmp_path / "train.py")
    check_source(file)
    capsys.readouterr()
    train_by_script(file, tmp_path / "run")
    assert_same_run(checkpoint, tmp_path / "run")
    assert_same_score(checkpoint, capsys.readouterr().out)


@pytest.mark.parametrize("task", first_of(["one class ignored", "values", "labels", "weighted", "yes or no"], 3))
def test_every_metric_is_the_runs(task: str, table: Path, train: Train) -> None:
    """The proof of an export compares them; so the right one must be written, and a wrong one be found."""
    bundle = load_bundle(train(rows_config(table, *TASKS[task], "loop.max_steps=1")))
    for name in {"loss", *bundle.config.objective.metrics} - {"top5_accuracy"}:
        checkpoints = bundle.config.checkpoints.model_copy(update={"monitor": f"val/{name}"})
        bundle = replace(bundle, config=bundle.config.model_copy(update={"checkpoints": checkpoints}))
        text = render_script(bundle, "train.py")
        script.prove_script(bundle, text)
        assert f"improved = val_{'loss' if name == 'loss' else 'score'} " in text
        wrong = text.replace(".isnan()].mean().item()", ".isnan()].mean().item() + 1e-9")
        with pytest.raises(TrainingError, match="The script's loss or metric would differ"):
            script.prove_script(bundle, wrong)


@pytest.mark.parametrize("vocabulary", ["characters", "bytes"])
def test_text(vocabulary: str, train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "night.txt"
    path.write_text("".join(f"{number}. {WORDS}\n" for number in range(30)) + "Ünique end: 100 €\n", encoding="utf-8")
    data: dict[str, Any] = {
        "name": "text",
        "dataset": {"kind": "text", "path": str(path), "context": 24, "stride": 12, "vocabulary": vocabulary},
        "model": {"kind": "gpt", "layers": 2, "heads": 2, "width": 16, "dropout": 0.1},
        "objective": {"kind": "language_model", "label_smoothing": 0.1},
        "loop": {"epochs": 2, "batch_size": 16, "accumulation": 2},
    }
    apply_overrides(data, [CPU])
    checkpoint = train(parse_config(data))
    file = export(checkpoint, tmp_path / "train.py")
    check_source(file)
    capsys.readouterr()
    train_by_script(file, tmp_path / "run")
    assert_same_run(checkpoint, tmp_path / "run")
    assert_same_score(checkpoint, capsys.readouterr().out)


REFUSED: list[tuple[str, Callable[[Path], RunConfig], str]] = [
    (
        "going back",
        lambda table: rows_config(table, FEATURES, "loop.after_skips=roll_back"),
        "loop.after_skips: a script cannot go back after skipped steps yet",
    ),
]


@pytest.mark.parametrize(("config", "sentence"), [each[1:] for each in REFUSED], ids=[each[0] for each in REFUSED])
def test_what_no_script_says_is_refused(
    config: Callable[[Path], RunConfig], sentence: str, table: Path, train: Train, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=re.escape(sentence)):
        export_checkpoint(train(config(table)), "script", tmp_path / "train.py")
    assert not (tmp_path / "train.py").exists()


def test_a_table_that_is_gone_is_asked_for(table: Path, train: Train, tmp_path: Path) -> None:
    moved = tmp_path / "moved.csv"
    moved.write_bytes(table.read_bytes())
    checkpoint = train(rows_config(moved, FEATURES))
    moved.unlink()
    with pytest.raises(InputError, match="bring it back to where the run had it"):
        export_checkpoint(checkpoint, "script", tmp_path / "train.py")


def write_numbers(path: Path, *columns: tuple[str, Callable[[int], object]]) -> Path:
    lines = [";".join(name for name, _ in columns)]
    lines += [";".join(str(cell(number)) for _, cell in columns) for number in range(60)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["spaces", "large", "decimal comma", "parquet"])
def test_an_odd_table_is_read_as_the_run_does(kind: str, train: Train, tmp_path: Path) -> None:
    """Texts that are numbers once stripped, whole numbers beyond 64 bits: what only the longer way to read finds."""
    cells: dict[str, Callable[[int], object]] = {
        "spaces": lambda number: f" {number / 3:.3f} ",
        "large": lambda number: 10**19 * (number + 1),
        "decimal comma": lambda number: f"{number / 3:.3f}".replace(".", ","),
        "parquet": lambda number: number / 3,
    }
    path = tmp_path / "odd.csv"
    columns = ("size", cells[kind]), (" color ", lambda number: (" 1", "2", "x ", "")[number % 4])
    write_numbers(path, *columns, ("kind", lambda number: ("oak", " ash")[number % 2]))
    if kind == "parquet":
        frame = pl.read_csv(path, separator=";").rename(str.strip)
        path = tmp_path / "odd.parquet"
        frame.cast({"size": pl.Float32, "kind": pl.Categorical}).write_parquet(path)
    checkpoint = train(rows_config(path, 'dataset.features=["size", "color"]'))
    file = export(checkpoint, tmp_path / "train.py")
    check_source(file)
    train_by_script(file, tmp_path / "run")
    assert_same_run(checkpoint, tmp_path / "run")
