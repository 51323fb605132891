"""Activation checkpointing changes memory, and nothing else."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.training.catalog.whole_way import content
from tests.training.known_facts import sample_facts
from tests.training.tiny import tiny, tiny_images, write_idx
from training.config.sections.model import Mlp, Model, SmallCnn, UNet
from training.config.sections.pretrained import TorchvisionModel, TorchvisionSegmentation
from training.engine.runs.run import resume_run, start_run
from training.errors import ConfigError
from training.models import make_model
from training.models.activation_checkpointing import checkpoint_activations

CLASSIFIERS = ("densenet121", "swin_t", "vit_b_32", "googlenet")
SLOWER = (*CLASSIFIERS, "deeplabv3_mobilenet_v3_large")
NETWORKS: list[tuple[Model, int]] = [
    (SmallCnn(norm="batch", dropout=0.3), 16),
    (Mlp(hidden=(16, 16, 16), norm="batch", dropout=0.2), 8),
    (UNet(), 32),
    (TorchvisionModel(name="resnet18"), 32),
    (TorchvisionModel(name="mobilenet_v3_small"), 32),
    (TorchvisionSegmentation(), 32),
    (TorchvisionSegmentation(name="deeplabv3_mobilenet_v3_large"), 32),
    *((TorchvisionModel(name=name), 96) for name in CLASSIFIERS),
]


def passes(model: nn.Module, images: Tensor) -> tuple[list[Tensor], int]:
    """Two passes forward and back, as accumulation has them: answers, gradients and statistics; bytes kept in between."""
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    torch.manual_seed(7)
    results = []
    for some in images.chunk(2):
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            answer = model(some)
        answer.square().mean().backward()
        results.append(answer.detach())
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    return [*results, *gradients, *model.buffers(), torch.rand(3)], sum(kept.values())


@pytest.mark.parametrize(
    ("config", "side"),
    [
        pytest.param(
            config,
            side,
            marks=pytest.mark.slow if getattr(config, "name", "") in SLOWER else (),
            id=getattr(config, "name", config.kind),
        )
        for config, side in NETWORKS
    ],
)
def test_same_bits_for_less_memory(config: Model, side: int) -> None:
    model = make_model(config, sample_facts((3, side, side)), 5, seed=0).train()
    twin = copy.deepcopy(model)
    images = torch.rand(8, 3, side, side)
    assert checkpoint_activations(twin) > 0
    assert list(twin.state_dict()) == list(model.state_dict())
    plain, most = passes(model, images)
    saved, least = passes(twin, images)
    assert len(saved) == len(plain)
    for one, other in zip(saved, plain, strict=True):
        assert torch.equal(one, other)
    assert least < most
    with torch.no_grad():
        assert torch.equal(twin.eval()(images), model.eval()(images))


def test_a_run_is_the_same_run_with_and_without(tmp_path: Path) -> None:
    data = write_idx(tmp_path / "data")
    plain = tiny_images(data, "model.norm=batch", "loop.epochs=1", "precision.device=cpu")
    again = tiny_images(
        data, "model.norm=batch", "loop.epochs=1", "precision.device=cpu", "precision.activation_checkpointing=true"
    )
    ends = [Path(str(start_run(config, tmp_path / "runs").last_checkpoint)) for config in (plain, again)]
    weights, averaged = ([content(end)[name] for end in ends] for name in ("model.safetensors", "ema.safetensors"))
    assert weights[0] == weights[1]
    assert averaged[0] == averaged[1]
    before = content(ends[0])
    middle = ends[0].parent / "step-00000002"
    resumed = resume_run(str(middle), tmp_path / "runs", ["precision.activation_checkpointing=true"])
    assert resumed.last_checkpoint == str(ends[0])  # the same run goes on: a run that was short of memory, too
    assert content(ends[0])["model.safetensors"] == before["model.safetensors"]


@pytest.mark.parametrize(("setting", "value"), [("compile", "step"), ("compile", "model"), ("cuda_graphs", "on")])
def test_what_does_not_go_together(setting: str, value: str) -> None:
    with pytest.raises(ConfigError, match=rf"precision\.activation_checkpointing: .*set precision\.{setting} to off"):
        tiny("precision.activation_checkpointing=true", f"precision.{setting}={value}")
