"""Channels last or first: as asked, else a function of network and batch; the data follow, and so do exported scripts."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from training.config import apply_overrides, parse_config
from training.config.files import dump_config
from training.engine.assemble import assemble
from training.engine.ledger import _model_facts

RESNET = {"model": {"kind": "torchvision", "name": "resnet18"}}
MOBILENET = {"model": {"kind": "torchvision", "name": "mobilenet_v3_small"}}
CNN = {"model": {"kind": "small_cnn"}}


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
def test_filters_and_pictures_lie_in_the_same_order(model: dict[str, object], asked: str, wanted: bool) -> None:
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
    batch = next(iter(next(iter(session.data.train_windows(0)))))
    order = torch.channels_last if wanted else torch.contiguous_format
    filters = [parameter for parameter in session.parameters if parameter.ndim == 4]
    assert all(parameter.is_contiguous(memory_format=order) for parameter in filters)
    assert batch.inputs.is_contiguous(memory_format=order)
    assert _model_facts(session)["channels_last"] is wanted


@pytest.mark.parametrize(("before", "now"), [("true", "on"), ("false", "off")])
def test_what_earlier_versions_wrote_is_understood(before: str, now: str, tmp_path: Path) -> None:
    data = {"name": "order", "dataset": {"kind": "shapes"}, "model": {"kind": "small_cnn"}}
    apply_overrides(data, [f"precision.channels_last={before}"])
    assert f'channels_last = "{now}"' in dump_config(parse_config(data))
