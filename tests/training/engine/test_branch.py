"""Branches: a new run from another run's checkpoint, with whatever settings were changed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.training.tiny import tiny, tiny_pictures, write_idx
from training.checkpoints import load_state
from training.engine.assemble import assemble
from training.engine.restore import Branch
from training.engine.run import Hooks, branch_run, start_run
from training.errors import InputError
from training.events import Event, Found
from training.runs.folder import RunFolder, create_run
from training.runs.manifest import verify


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A completed run of 24 steps with checkpoints at 16, 20 and 24."""
    return RunFolder(Path(start_run(tiny(), tmp_path_factory.mktemp("parent"))["folder"]))


@pytest.mark.parametrize("override", ["optimizer.decay_bias_and_norm=true", "optimizer.amsgrad=true"])
def test_optimizer_state_that_does_not_fit_is_left_out_and_said(
    parent: RunFolder, tmp_path: Path, override: str
) -> None:
    said: list[Event] = []
    record = branch_run(parent.checkpoints / "step-00000016", tiny(override), tmp_path, Hooks(watch=said.append))
    assert record["status"] == "completed"
    assert record["step"] == 24
    [finding] = [event for event in said if isinstance(event, Found)]
    assert "optimizer state" not in finding.title
    assert "Not restored: optimizer state" in finding.advice


@pytest.mark.parametrize("override", ["loop.epochs=1", "loop.epochs=2", "loop.max_steps=10"])
def test_a_branch_beyond_its_own_end_is_refused_and_leaves_nothing(
    parent: RunFolder, tmp_path: Path, override: str
) -> None:
    with pytest.raises(InputError, match="step 16"):
        branch_run(parent.checkpoints / "step-00000016", tiny(override), tmp_path)
    assert list((tmp_path / "runs").iterdir()) == []


def test_the_best_of_a_branch_is_one_of_its_own_checkpoints(parent: RunFolder, tmp_path: Path) -> None:
    changed = tiny("loop.epochs=4", "optimizer.lr=1e-9", "schedule.kind=constant")  # nothing gets better any more
    record = branch_run(parent.checkpoints / "step-00000024", changed, tmp_path)
    assert record["best"]["step"] == 32
    assert Path(record["best"]["checkpoint"]).parent.parent == Path(record["folder"])


def test_a_skipped_first_step_keeps_the_branched_batch_norm_statistics(tmp_path: Path) -> None:
    data = write_idx(tmp_path / "data", samples=60, size=32)
    config = tiny_pictures(
        data,
        "model.kind=torchvision",
        "model.name=mobilenet_v3_small",
        "loop.epochs=1",
        "loop.ema_decay=none",
        "schedule.warmup_steps=0",
    )
    parent = RunFolder(Path(start_run(config, tmp_path)["folder"]))
    checkpoint = max(parent.checkpoints.iterdir())
    longer = config.model_copy(update={"loop": config.loop.model_copy(update={"epochs": 2})})
    session = assemble(longer, lambda text, fraction: None)
    Branch(checkpoint, verify(checkpoint), parent).apply(create_run(tmp_path, longer), session)
    before = {name: buffer.clone() for name, buffer in session.model.named_buffers()}
    assert any(buffer.is_floating_point() and buffer.abs().sum() > 0 for buffer in before.values())
    session.guard.step(torch.tensor(float("nan")))
    for name, buffer in session.model.named_buffers():
        assert torch.equal(buffer, before[name]), name


def test_the_loss_scale_of_fp16_goes_over_to_a_branch(tmp_path: Path) -> None:
    config = tiny("precision.compute=fp16", "loop.epochs=1")
    parent = RunFolder(Path(start_run(config, tmp_path)["folder"]))
    checkpoint = parent.checkpoints / "step-00000008"
    longer = tiny("precision.compute=fp16")
    session = assemble(longer, lambda text, fraction: None)
    assert session.numerics.scaler is not None
    Branch(checkpoint, verify(checkpoint), parent).apply(create_run(tmp_path, longer), session)
    assert session.numerics.scaler.state_dict() == load_state(checkpoint)["scaler"]
    assert session.numerics.scaler.state_dict()["_growth_tracker"] == 8
