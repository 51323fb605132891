"""What a run trains on what, in one line: never empty in a part, whatever is chosen."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.reports import make_report
from training import catalog
from training.catalog.summary import summarize
from training.config import RunConfig, parse_config
from training.config.fields import Section
from training.data_report import DataReport

_GIVEN: dict[str, Any] = {"path": "/data/somewhere/things.bin", "name": "resnet18", "teacher": "/runs/teacher"}


def chosen(section: str) -> list[Section]:
    """Each kind with its defaults, and with something where it has none."""
    made = []
    for entry in catalog.entries(section):
        needed: dict[str, Any] = {
            name: _GIVEN[name] for name, field in entry.config.model_fields.items() if field.is_required()
        }
        made.append(entry.config.model_construct(**needed))
    return made


def test_it_says_data_target_network_rate_and_loss_of_every_combination() -> None:
    combinations = itertools.product(chosen("dataset"), chosen("objective"), chosen("model"))
    for dataset, objective, model in combinations:
        config = RunConfig.model_construct(dataset=dataset, objective=objective, model=model)
        for report, parameters in ((None, 0), (make_report(), 148_000)):
            parts = summarize(config, report, parameters).split(" · ")
            assert len(parts) == 4
            assert all(side.strip() for part in parts for side in part.split("→"))
            assert parts[0].count("→") == 1
            assert not any(word in part for word in ("None", "_loss", "  ") for part in parts)
    for optimizer, schedule in itertools.product(chosen("optimizer"), chosen("schedule")):
        config = RunConfig.model_construct(optimizer=optimizer, schedule=schedule)
        words, rate = summarize(config).split(" · ")[2].rsplit(" ", 1)
        assert "," in words
        assert float(rate) > 0


_TABLE = {"kind": "table", "path": "C:\\data\\diamonds.csv", "targets": ["price"]}
_TABULAR: dict[str, Any] = {
    "dataset": _TABLE,
    "model": {"kind": "tabular"},
    "objective": {"kind": "regression", "loss": "huber"},
    "optimizer": {"kind": "adamw", "lr": 3e-3},
}


@pytest.mark.parametrize(
    ("data", "report", "parameters", "line"),
    [
        (_TABULAR, None, 148_123, "diamonds.csv → price · Tabular MLP 148k · AdamW, OneCycleLR 3e-3 · Huber"),
        (
            {**_TABULAR, "optimizer": {"kind": "sgd", "lr": 0.05}, "schedule": {"kind": "one_cycle", "max_lr": 0.2}},
            None,
            999,
            "diamonds.csv → price · Tabular MLP 999 · SGD, OneCycleLR 0.2 · Huber",
        ),
        (
            {**_TABULAR, "dataset": {**_TABLE, "targets": []}, "schedule": {"kind": "constant"}},
            make_report(target="values", classes=("x", "y", "z"), class_count=3),
            2_560_000,
            "diamonds.csv → x, y and 1 more · Tabular MLP 2.6M · AdamW, ConstantLR 3e-3 · Huber",
        ),
        (
            {"dataset": {**_TABLE, "targets": []}, "model": {"kind": "tabular"}},
            make_report(),
            0,
            "diamonds.csv → last column, 2 classes · Tabular MLP · AdamW, OneCycleLR 1e-3 · Cross-entropy",
        ),
        (
            {
                "dataset": {**_TABLE, "task": "tasks", "targets": ["cut", "price", "color"]},
                "model": {"kind": "tabular"},
                "objective": {"kind": "multi_task", "loss": "huber"},  # of the price; the others have cross-entropy
            },
            None,
            0,
            "diamonds.csv → cut, price and 1 more · Tabular MLP · AdamW, OneCycleLR 1e-3 · Multi-task",
        ),
        (
            {"dataset": {"kind": "blobs"}, "model": {"kind": "mlp"}, "objective": {"kind": "embedding"}},
            make_report(),
            0,
            "Blobs → embedding · MLP · AdamW, OneCycleLR 1e-3 · Supervised contrastive",
        ),
        (
            {
                "dataset": {"kind": "spiral"},
                "model": {"kind": "mlp"},
                "objective": {"kind": "user_loss", "path": "losses/focal.py"},
            },
            None,
            0,
            "Spiral → class · MLP · AdamW, OneCycleLR 1e-3 · focal.py",
        ),
        ({}, None, 0, "Synthetic shapes → class · Small CNN · AdamW, OneCycleLR 1e-3 · Cross-entropy"),
        (
            {"model": {"kind": "torchvision", "name": "resnet18"}},
            make_report(classes=("a",), class_count=1000),
            11_689_512,
            "Synthetic shapes → 1,000 classes · resnet18 11.7M · AdamW, OneCycleLR 1e-3 · Cross-entropy",
        ),
    ],
)
def test_it_reads_as_people_would_say_it(
    data: dict[str, Any], report: DataReport | None, parameters: int, line: str
) -> None:
    assert summarize(parse_config(data, paths=False), report, parameters) == line
