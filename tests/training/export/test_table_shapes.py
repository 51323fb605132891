"""The same answer for the same row, however its table is written: from the run, its script and its exports."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest
import torch

from tests.training.export.conftest import Train
from tests.training.export.table_shapes import SHAPES, write_shape
from tests.training.export.test_script import assert_same_run, export, train_by_script
from training.config import parse_config
from training.config.sections.data.tables import TableDataset
from training.data.tables.remarks import list_remarks
from training.export import export_checkpoint
from training.export.bundle import load_bundle

QUICK = ("german", "titanic")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in SHAPES]
)
def test_a_row_is_answered_alike_everywhere(name: str, train: Train, tmp_path: Path) -> None:
    shape = SHAPES[name]
    path, rows = write_shape(name, tmp_path)
    several = shape.settings.get("task") == "tasks"
    regression = not several and shape.target in ("mpg", "fare")
    data: dict[str, Any] = {
        "name": "shape",
        "dataset": {"kind": "table", "path": str(path), "targets": [shape.target], **shape.settings},
        "model": {"kind": "tabular", "hidden": [8]},
        "objective": {"kind": "multi_task" if several else "regression" if regression else "classification"},
        "schedule": {"kind": "constant"},
        "loop": {"max_steps": 2, "batch_size": 16},
        "precision": {"device": "cpu"},
    }
    checkpoint = train(parse_config(data))
    bundle = load_bundle(checkpoint)
    marked = tuple(f"{each} missing" for each in shape.features if f"{each} missing" in bundle.facts.columns)
    assert bundle.facts.columns == shape.features + marked
    script = export(checkpoint, tmp_path / "train.py")  # which compares what both read, to the bit
    train_by_script(script, tmp_path / "script")
    assert_same_run(checkpoint, tmp_path / "script")

    answers = []
    for to in ("safetensors", "onnx"):
        export_checkpoint(checkpoint, to, tmp_path / to)
        code = run_path(str(tmp_path / to / "model.py"))
        model, facts = code["load_model"]()
        samples = code["read_rows"](facts, rows)
        answers.append(code["predict"](model, facts, samples))
        found = torch.as_tensor(code["logits"](model, facts, samples))
        torch.testing.assert_close(found, bundle.logits(torch.from_numpy(samples)), rtol=1e-4, atol=1e-5)
    read = run_path(str(script))["read_data"](path)[0]
    np.testing.assert_array_equal(samples, read.numpy())
    assert len(answers[0]) == len(rows)
    assert isinstance(bundle.config.dataset, TableDataset)
    remarks = list_remarks(rows, bundle.facts, bundle.config.dataset.missing_marks)
    assert all(remark.text.endswith("was not in the training data and counts as unknown") for remark in remarks)
