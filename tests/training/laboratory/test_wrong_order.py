"""Lines in the wrong place: each loop is short, differs by one line, and does the harm that is told of it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.training.commands import Captured, json_line
from training.cli import main
from training.laboratory.wrong_order.experiments import EXPERIMENTS, Experiment, run_experiment


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def name(experiment: Experiment) -> str:
    return f"{experiment.line} {experiment.place}"


@pytest.mark.parametrize("experiment", [EXPERIMENTS[number] for number in (1, 6, 7)], ids=name)
def test_the_right_order_does_none(experiment: Experiment) -> None:
    """The margin tells the two apart: the right loop on both sides is not taken for harm."""
    right = Experiment(experiment.line, experiment.place, experiment.why, experiment.figure, experiment.setting)
    result = run_experiment(right, seeds=(0,))
    assert result.right == result.wrong
    assert not result.harmed


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=name)
def test_each_is_short_and_differs_in_one_line(experiment: Experiment) -> None:
    right, wrong = (text.splitlines() for text in experiment.texts)
    assert max(len(right), len(wrong)) <= 15
    changed = [line for line in difflib.ndiff(right, wrong) if line[0] in "+-"]
    moved = {line[2:].strip() for line in changed}
    assert 1 <= len(moved) <= 4
    assert len(changed) <= 4


def test_what_is_said_of_a_plain_move_and_of_half_is_true() -> None:
    model = nn.Linear(2, 2)
    before = list(model.parameters())
    model.half()
    assert [one is other for one, other in zip(model.parameters(), before, strict=True)] == [True, True]
    moved = nn.Linear(2, 2, device="meta")
    before = list(moved.parameters())
    moved.to_empty(device="cpu")
    assert [one is other for one, other in zip(moved.parameters(), before, strict=True)] == [False, False]


@pytest.mark.slow
def test_the_command_writes_table_page_and_figures(tmp_path: Path, capsys: Captured) -> None:
    assert main(["lab", "--wrong-order", "--out", str(tmp_path), "--json"]) == 0
    told = json_line(capsys)
    assert told["report"] == str(tmp_path / "wrong-order.html")
    rows = json.loads((tmp_path / "wrong-order.json").read_text())
    assert len(rows) == 8
    assert [row for row in rows if not row["harmed"]] == []
    assert {len(row["wrong"]) for row in rows} == {6}  # seeds 0 to 5
    page = (tmp_path / "wrong-order.html").read_text()
    assert "chosen so that its mistake does harm" in page
    assert "chosen so that its mistake does harm" in (tmp_path / "wrong-order.md").read_text()
    assert page.count("<pre>") == 16
    assert (tmp_path / "wrong-order.md").read_text().count("```python") == 9


def test_its_data_are_its_own(tmp_path: Path, capsys: Captured) -> None:
    assert main(["lab", "--wrong-order", "--out", str(tmp_path), "--share", "0.5"]) == 2
    assert capsys.readouterr().err.startswith("--wrong-order: draws its own points")
    assert not list(tmp_path.iterdir())
