"""A model that no memory there can hold is refused before a run begins, with what it would take and what helps."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from tests.training.tiny import tiny
from training.config import RunConfig
from training.doctor.preflight import preflight
from training.engine import model_room
from training.engine.model_room import refuse_too_large
from training.engine.ranks.group import ALONE, Ranks
from training.engine.runs.run import start_run
from training.errors import TooLargeError

CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)


class Four(Ranks):
    """Processes of one machine."""

    count = local_count = 4


def give(monkeypatch: pytest.MonkeyPatch, total: int) -> None:
    """Let each device have so many bytes in all."""
    monkeypatch.setattr(model_room, "total_memory", lambda device: (total, "of a small one"))


def refuse(config: RunConfig, device: torch.device = GPU, ranks: Ranks = ALONE) -> None:
    refuse_too_large(nn.Linear(250, 1000, bias=False), config, device, ranks)  # 1 MB of weights


def test_nothing_begins_and_the_check_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, 4_000)
    drawn: list[bool] = []
    monkeypatch.setattr(nn.Linear, "reset_parameters", lambda layer: drawn.append(not layer.weight.is_meta))
    with pytest.raises(
        TooLargeError, match=r"The model does not fit: its .* of weights, their gradients and what adamw keeps"
    ):
        start_run(tiny("precision.device=cpu"), tmp_path)
    assert not list((tmp_path / "runs").iterdir())
    found = [each for each in preflight(tiny("precision.device=cpu"), tmp_path) if each.level == "error"]
    assert [each.code for each in found] == ["memory.tight"]
    assert "Choose a smaller model" in found[0].advice
    assert drawn
    assert not any(drawn), "it is refused before its weights are drawn"


def test_what_is_kept_for_each_weight_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, 3_500_000)
    refuse(tiny("optimizer.kind=sgd"))
    with pytest.raises(TooLargeError, match=r"take 4 MB, more than the 3\.5 MB of a small one\.") as refused:
        refuse(tiny("optimizer.kind=adamw"))
    assert "optimizer.kind to adafactor" in refused.value.advice
    with pytest.raises(TooLargeError, match="take 4 MB"):
        refuse(tiny("optimizer.kind=sgd", "loop.ema_decay=0.9"))


def test_the_advice_is_none_that_would_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, 1_500_000)
    with pytest.raises(TooLargeError) as refused:
        refuse(tiny("optimizer.kind=adamw"))
    assert "adafactor" not in refused.value.advice


def test_more_gpus_do_not_help_and_processes_share_the_computer(monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, 3_500_000)
    with pytest.raises(TooLargeError, match="take 4 MB") as refused:
        refuse(tiny(), GPU, Four())
    assert "Each GPU holds the whole model" in refused.value.advice
    give(monkeypatch, 15_000_000)
    refuse(tiny(), GPU, Four())
    with pytest.raises(TooLargeError, match=r"in each of 4 processes, .* take 16 MB") as refused:
        refuse(tiny(), CPU, Four())
    assert "Fewer processes need less" in refused.value.advice


def test_frozen_layers_need_no_more_than_their_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, 3_500_000)
    model = nn.Linear(250, 1000, bias=False)
    model.weight.requires_grad_(False)
    refuse_too_large(model, tiny(), GPU, ALONE)
