"""What may decide which checkpoint is best, as the form suggests it: what the task measures, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QComboBox

from studio.forms.editors import SuggestEditor
from studio.pages.setup.page import SetupPage
from tests.studio.pages_setup.fakes import FakeContext
from training.config import parse_config

PATH = "checkpoints.monitor"


def suggested(page: SetupPage) -> list[str]:
    [form] = [form for form in page.forms if form.knows(PATH)]
    editor = form.rows()[PATH].editor
    assert isinstance(editor, SuggestEditor)
    [combo] = editor.findChildren(QComboBox)
    return [combo.itemText(row) for row in range(combo.count())]


def test_metrics_of_the_task_are_suggested(page: SetupPage, context: FakeContext) -> None:
    context.draft.set_kind("objective", "embedding")
    assert suggested(page) == ["auto", "val/recall_at_1", "val/recall_at_k", "val/loss"]
    context.draft.set("objective.ranking_metrics", True)
    assert "val/mean_average_precision" in suggested(page)
    context.draft.set_kind("objective", "classification")
    assert suggested(page)[:2] == ["auto", "val/accuracy"]
    assert "val/recall_at_1" not in suggested(page)


def test_each_of_several_targets_is_suggested_by_name(page: SetupPage, context: FakeContext, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("size,kind,price,ripe\n1,a,2.5,0\n2,b,3.5,1\n")
    dataset = {"kind": "table", "path": str(path), "task": "tasks", "targets": ["kind", "price"]}
    data: dict[str, Any] = {"dataset": dataset, "model": {"kind": "mlp"}, "objective": {"kind": "multi_task"}}
    context.draft.set_config(parse_config({**data, "checkpoints": {"monitor": "val/price/r2"}}))
    assert {"val/kind/accuracy", "val/price/r2", "val/loss"} <= set(suggested(page))
    assert "val/accuracy" not in suggested(page)
    assert context.draft.value(PATH) == "val/price/r2"
    context.draft.set("dataset.targets", ["kind", "ripe"])
    assert "val/ripe/auroc" in suggested(page)
    [problem] = [problem for problem in context.draft.problems() if problem.path == PATH]
    assert "choose auto, val/kind/accuracy" in problem.message
    assert context.draft.value(PATH) == "val/price/r2"  # what was typed stays
