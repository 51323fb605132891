"""What a run makes of a model that fell apart."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.tiny import tiny
from training.core import evaluation
from training.engine.evaluate import evaluate as plain
from training.engine.runs.run import start_run
from training.engine.session import Session
from training.runs.folder import RunFolder
from training.runs.records.history import read_history


def test_a_validation_whose_loss_is_no_number_is_never_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0

    def evaluate(session: Session, *more: Any) -> tuple[dict[str, float], Any]:
        nonlocal calls
        calls += 1
        metrics, tables = plain(session, *more)
        return metrics | ({"val/loss": math.nan, "val/accuracy": 2.0} if calls == 2 else {}), tables

    monkeypatch.setattr("training.engine.validation.evaluate", evaluate)
    record = start_run(tiny("checkpoints.monitor=val/accuracy"), tmp_path)
    history = read_history(RunFolder(Path(record.folder)).events_file)
    assert [item.metrics["val/accuracy"] == 2.0 for item in history.validations[:3]] == [False, True, False]
    assert [item.improved for item in history.validations[:2]] == [True, False]


def test_a_model_that_answers_no_numbers_is_never_the_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(torch.nn.Module):
        def forward(self, outputs: torch.Tensor) -> torch.Tensor:
            return outputs * math.nan

    plain = evaluation.evaluate

    def evaluate(model: torch.nn.Module, *more: Any, **words: Any) -> tuple[float, float]:
        return plain(torch.nn.Sequential(model, Broken()), *more, **words)

    monkeypatch.setattr(evaluation, "evaluate", evaluate)
    record = start_run(tiny(), tmp_path)
    history = read_history(RunFolder(Path(record.folder)).events_file)
    assert math.isnan(record.metrics["val/accuracy"])
    assert not any(item.improved for item in history.validations)


def test_a_run_that_skipped_each_step_says_that_nothing_was_learned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ("loop.max_skipped_steps=100", "loop.max_steps=5")
    loss = torch.nn.functional.cross_entropy
    monkeypatch.setattr(torch.nn.functional, "cross_entropy", lambda *args, **more: loss(*args, **more) * math.nan)
    record = start_run(tiny(*settings), tmp_path)
    history = read_history(RunFolder(Path(record.folder)).events_file)
    assert (record.status, record.skipped_steps) == ("completed", 5)
    last = history.findings[-1]
    assert last.level == "warning"
    assert last.title == ("Nothing was learned: no gradient was finite, so the run's 5 steps left the weights alone.")
