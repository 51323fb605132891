"""What a plain loop has to show, judged of a right one and of one that loses its gradients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.commands import Captured, json_line
from tests.training.tiny import write_idx
from training.cli import main
from training.engine.runs.run import resume_run
from training.laboratory import runner
from training.laboratory.child import Ended
from training.runs.folder import RunFolder


def train_baseline(folder: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The laboratory's first step, trained in this process; the others end at once."""

    def train(run: RunFolder, *_rest: object, **_more: object) -> Ended:
        if run.config().name != "lab 1 baseline":
            return Ended(1, "Not today.")
        resume_run(str(run.path), run.path.parent.parent)
        return Ended(0, "")

    monkeypatch.setattr(runner, "train", train)
    monkeypatch.setattr(runner, "describe_expected_time", lambda *_: "")
    data = write_idx(folder / "data", samples=480)
    small = ("model.channels=[4, 8]", "model.hidden=16", "loop.batch_size=16", "loop.epochs=3")
    told = [word for text in small for word in ("--set", text)]
    assert main(["lab", "--json", "--workspace", str(folder / "w"), "--data", str(data), *told]) == 1
    return json_line(capsys)["steps"][0]


@pytest.mark.slow
def test_a_plain_loop_is_asked_to_learn(tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    right = train_baseline(tmp_path / "right", capsys, monkeypatch)
    assert right["met"], right["found"]
    assert right["figures"]["validation_samples"] == 96
    assert "always naming the commonest class gives " in right["found"]

    backward: Any = torch.Tensor.backward

    def lose_gradients(loss: torch.Tensor) -> None:
        backward(0 * loss)

    monkeypatch.setattr(torch.Tensor, "backward", lose_gradients)
    wrong = train_baseline(tmp_path / "wrong", capsys, monkeypatch)
    assert wrong["figures"]["steps"] == right["figures"]["steps"]
    assert not wrong["met"], wrong["found"]
