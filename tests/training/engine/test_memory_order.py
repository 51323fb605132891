"""Channels last or first: as asked, else a function of network and batch; the data follow, and so do exported scripts."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.stepping import take_step
from training.config import RunConfig, apply_overrides, parse_config
from training.config.files import dump_config
from training.engine import device
from training.engine.assemble import assemble
from training.engine.checkpoint_saver import describe_training
from training.engine.runs.environment import read_auto_settings
from training.engine.runs.run import Hooks, resume_run, start_run
from training.engine.session import Session
from training.events import CheckpointSaved
from training.runs.folder import RunFolder

RESNET = {"model": {"kind": "torchvision", "name": "resnet18"}}
MOBILENET = {"model": {"kind": "torchvision", "name": "mobilenet_v3_small"}}
CNN = {"model": {"kind": "small_cnn"}}


def small(*overrides: str, **sections: Any) -> RunConfig:
    data: dict[str, Any] = {
        "name": "order",
        "dataset": {"kind": "shapes", "samples": 60, "image_size": 16},
        "loop": {"batch_size": 16, "clip_norm": 0.01},
        "precision": {"device": "cpu"},
        **CNN,
        **sections,
    }
    apply_overrides(data, [*overrides])
    return parse_config(data)


@pytest.mark.parametrize(
    ("model", "asked", "wanted"),
    [
        pytest.param(RESNET, "auto", False, id="wide layers that see few pixels"),
        pytest.param(RESNET, "on", True, id="asked for"),
        pytest.param(MOBILENET, "auto", True, id="grouped convolutions"),
        pytest.param(CNN, "auto", True, id="each filter used often"),
        pytest.param(CNN, "off", False, id="refused"),
    ],
)
def test_filters_and_images_lie_in_the_same_order(model: dict[str, Any], asked: str, wanted: bool) -> None:
    config = parse_config(
        {
            "name": "order",
            "dataset": {"kind": "shapes", "samples": 60, "image_size": 32},
            "loop": {"batch_size": 16},
            "precision": {"device": "cpu", "channels_last": asked},
            **model,
        }
    )
    session = assemble(config, lambda phase, fraction: None)
    batch = next(iter(next(iter(session.data.steps(0)))))
    order = torch.channels_last if wanted else torch.contiguous_format
    filters = [parameter for parameter in session.parameters if parameter.ndim == 4]
    assert all(parameter.is_contiguous(memory_format=order) for parameter in filters)
    assert batch.inputs.is_contiguous(memory_format=order)
    assert describe_training(session)["channels_last"] is wanted


@pytest.mark.parametrize(("optimizer", "lr"), [("adamw", 1e-3), ("sgd", 1.0)])
def test_moments_follow_the_weights_into_another_order(optimizer: str, lr: float) -> None:
    """Fused kernels walk weights, gradients and moments side by side, whatever order each lies in."""

    def session_in(order: str) -> Session:
        settings = {"optimizer": {"kind": optimizer, "lr": lr}, "schedule": {"kind": "constant"}}
        return assemble(small("precision.channels_last=" + order, **settings), lambda phase, fraction: None)

    before, same, turned = session_in("on"), session_in("on"), session_in("off")
    windows = [next(session.data.steps(0)) for session in (before, same, turned)]
    take_step(before, windows[0])
    for session, window in zip((same, turned), windows[1:], strict=True):
        session.model.load_state_dict(before.model.state_dict())
        session.load_training_state(copy.deepcopy(before.training_state()))
        take_step(session, window)
    for mine, other in zip(turned.parameters, same.parameters, strict=True):
        assert mine.is_contiguous()
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-6)


def test_a_resumed_run_keeps_the_order_it_began_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = start_run(small("loop.max_steps=4"), tmp_path)
    hooks = Hooks()
    hooks.watch = lambda event: hooks.control.request_stop() if isinstance(event, CheckpointSaved) else None
    begun = start_run(small("loop.max_steps=4", "checkpoints.every_steps=1"), tmp_path, hooks)
    folder = RunFolder(Path(begun.folder))
    monkeypatch.setattr(device, "WORTH_CHANNELS_LAST", 1e12)  # as if another version had measured otherwise
    assert read_auto_settings(folder, folder.config(), torch.device("cpu")).channels_last is True
    assert read_auto_settings(folder, folder.config(), torch.device("cuda")).channels_last is None
    resumed = resume_run(begun.folder, tmp_path)
    assert resumed.metrics == whole.metrics


@pytest.mark.parametrize(("before", "now"), [("true", "on"), ("false", "off")])
def test_what_earlier_versions_wrote_is_understood(before: str, now: str, tmp_path: Path) -> None:
    data: dict[str, Any] = {"name": "order", "dataset": {"kind": "shapes"}, "model": {"kind": "small_cnn"}}
    apply_overrides(data, [f"precision.channels_last={before}"])
    assert f'channels_last = "{now}"' in dump_config(parse_config(data))
