"""The network whose first layer whitens patches: what whitening does, and that a run with it is a run like any other."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from tests.training.known_facts import sample_facts
from tests.training.stepping import take_step
from training.checkpoints.load import load_weights
from training.config import RunConfig, apply_overrides, parse_config
from training.config.sections.model import WhitenedCnn
from training.config.sections.model_section import Norm
from training.control import Control
from training.engine.assemble import assemble
from training.engine.runs.run import Hooks, resume_run, start_run
from training.errors import InputError
from training.export import export_checkpoint
from training.models import fit_to_samples, make_model
from training.presets import preset_text
from training.runs.folder import RunFolder
from training.runs.records.forms import StatusRecord
from training.toml_text import read_toml

NETWORK = WhitenedCnn(channels=(6, 8, 10))


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two classes of 12 x 12 color images, 24 to train and 8 to judge; the judging ones are of other colors."""
    folder = tmp_path_factory.mktemp("pictures")
    generator = np.random.default_rng(0)
    for part, count in (("train", 24), ("val", 8)):
        for number in range(count):
            path = folder / part / ("left", "right")[number % 2] / f"{number:02}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            pixels = generator.integers(0, 60 if part == "train" else 200, (12, 12, 3), dtype=np.uint8)
            pixels[:, 6 * (number % 2) :][:, :6] += 50
            Image.fromarray(pixels).save(path)
    return folder


def preset(images: Path, *overrides: str) -> RunConfig:
    """The preset as it comes, but tiny and on the processor."""
    data: dict[str, Any] = read_toml(preset_text("cifar10"), "cifar10")
    data["dataset"]["path"] = str(images)
    data["model"]["channels"] = [6, 8, 10]
    tiny = ["precision.device=cpu", "precision.compute=fp32", "loop.epochs=3", "loop.batch_size=8"]
    apply_overrides(data, [*tiny, "loop.validation_batch_size=8", "checkpoints.every_steps=2", *overrides])
    return parse_config(data)


def quiet(_text: str, _share: float | None) -> None:
    """Nobody looks on."""


@pytest.mark.parametrize("shape", [(3, 32, 32), (1, 9, 9), (3, 20, 33), (3, 64, 64)])
def test_logits_for_any_image(shape: tuple[int, int, int]) -> None:
    model = make_model(NETWORK, sample_facts(shape), 7, seed=0)
    assert model(torch.randn(3, *shape)).shape == (3, 7)


def test_smaller_images_and_points_are_refused() -> None:
    with pytest.raises(InputError, match="whitened_cnn needs images of at least 9 x 9 pixels"):
        make_model(NETWORK, sample_facts((3, 8, 30)), 7, seed=0)
    with pytest.raises(InputError, match="whitened_cnn needs images"):
        make_model(NETWORK, sample_facts((2,)), 7, seed=0)


def test_whitened_patches_are_uncorrelated_and_of_one_size() -> None:
    mixing = 10 * torch.randn(3, 3, generator=torch.Generator().manual_seed(0))
    grain = torch.randn(600, 3, 17, 17, generator=torch.Generator().manual_seed(1))
    samples = torch.einsum("dc,nchw->ndhw", mixing, nn.functional.avg_pool2d(grain, 2, stride=1))
    model = make_model(NETWORK, sample_facts((3, 16, 16)), 7, seed=0)

    fit_to_samples(model, NETWORK, lambda count: samples[:count].split(170))

    layer = next(model.children())
    outputs = layer(samples).transpose(0, 1).flatten(1).double()
    moments = outputs @ outputs.T / outputs.shape[1]
    expected = torch.eye(12).repeat(2, 2) * torch.tensor([1.0, -1.0]).repeat_interleave(12).outer(
        torch.tensor([1.0, -1.0]).repeat_interleave(12)
    )
    torch.testing.assert_close(moments, expected.double(), atol=0.03, rtol=0.0)
    assert torch.equal(layer.weight[:12], -layer.weight[12:])  # type: ignore[index]


def test_logits_are_a_ninth_and_convolutions_begin_as_the_identity() -> None:
    model = make_model(NETWORK, sample_facts((3, 32, 32)), 7, seed=0).eval()
    inputs = torch.randn(4, 3, 32, 32)
    layers = list(model.children())
    scaled = next(index for index, layer in enumerate(layers) if isinstance(layer, nn.AvgPool2d))
    largest = nn.Sequential(*layers[:scaled])(inputs)
    torch.testing.assert_close(model(inputs), layers[-1](largest.flatten(1)) / 9)
    block = nn.Conv2d(24, 6, 3, padding=1, bias=False)
    block.load_state_dict(layers[2].state_dict())
    before = torch.randn(2, 24, 5, 5)
    torch.testing.assert_close(block(before), before[:, :6])


@pytest.mark.parametrize("norm", ["none", "group", "layer"])
def test_other_norms_need_no_batch_and_have_a_bias_alone(norm: Norm) -> None:
    model = make_model(NETWORK.model_copy(update={"norm": norm}), sample_facts((3, 32, 32)), 7, seed=0).train()
    inputs = torch.randn(4, 3, 32, 32)
    torch.testing.assert_close(model(inputs)[:1], model(inputs[:1]))
    norms = [layer for layer in model.modules() if isinstance(layer, nn.GroupNorm)]
    assert len(norms) == (0 if norm == "none" else 6)
    assert not any(layer.weight.requires_grad for layer in norms)
    biases = [name for name, value in model.named_parameters() if name.endswith("bias") and value.requires_grad]
    assert len(biases) == 6 + 1


def test_whitening_looks_at_training_images_alone_and_two_steps_leave_it(images: Path) -> None:
    with assemble(preset(images), quiet).data as data:
        samples = torch.cat(list(data.training_samples(1000)))
        assert samples.shape == (24, 3, 12, 12)
    model = make_model(NETWORK, sample_facts((3, 12, 12)), 2, seed=0)
    fit_to_samples(model, NETWORK, lambda _count: [samples])

    session = assemble(preset(images), quiet)
    with session.data as data:
        before = {name: tensor.clone() for name, tensor in session.model.state_dict().items()}
        assert torch.equal(before["0.weight"], model.state_dict()["0.weight"])
        windows = data.steps(0)
        for _ in range(2):
            take_step(session, next(windows))
        after = session.model.state_dict()
    norms = [name for name, layer in session.model.named_modules() if isinstance(layer, nn.BatchNorm2d)]
    fixed = {"0.weight", *(f"{name}.weight" for name in norms)}
    changed = {name for name, tensor in after.items() if not torch.equal(tensor, before[name])}
    assert changed == set(before) - fixed


def whitened(config: RunConfig) -> torch.Tensor:
    """The first layer as a run with ``config`` begins with it."""
    session = assemble(config, quiet)
    session.data.close()
    return session.model.state_dict()["0.weight"].contiguous()


def test_whitening_gives_the_same_bits_however_images_are_read(images: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.data.batching.batches.LOOKED_AT", 5 * 3 * 12 * 12)  # five at a time, and four
    here = ["precision.threads=1", "precision.channels_last=off"]
    expected = whitened(preset(images, "loader.mode=resident", *here))
    assert expected.abs().max() > 0
    for other in (
        ["loader.mode=streamed", "loader.workers=0"],
        ["loader.mode=streamed", "loader.workers=2", "loader.cache=off"],
        ["loop.validation_batch_size=3"],
        ["loop.batch_size=4", "loop.accumulation=2"],
        ["precision.channels_last=on"],
    ):
        assert torch.equal(whitened(preset(images, *here, *other)), expected), other


def test_whitening_never_holds_more_than_a_few_images(images: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training.data.batching.batches.LOOKED_AT", 5 * 3 * 12 * 12)
    alive: list[weakref.ref[torch.Tensor]] = []
    with assemble(preset(images), quiet).data as data:

        def watched(count: int) -> Iterator[torch.Tensor]:
            for some in map(torch.clone, data.training_samples(count)):
                alive.append(weakref.ref(some))
                yield some
                del some
                assert sum(reference() is not None for reference in alive) <= 1

        fit_to_samples(make_model(NETWORK, sample_facts((3, 12, 12)), 2, seed=0), NETWORK, watched)
    assert len(alive) == 5
    with assemble(preset(images), quiet).data as data:
        monkeypatch.setattr("training.data.batching.batches.LOOKED_AT", 1)
        assert [len(some) for some in data.training_samples(3)] == [1, 1, 1]


@pytest.mark.parametrize("streamed", [False, True])
def test_the_preset_trains_and_a_resumed_run_is_the_unbroken_one(images: Path, tmp_path: Path, streamed: bool) -> None:
    mode = "loader.mode=streamed" if streamed else "loader.mode=resident"
    whole = start_run(preset(images), tmp_path / "whole")
    assert whole.status == "completed", whole.reason
    hooks = Hooks(control=Control())
    hooks.watch = lambda event: setattr(hooks.control, "stop", hooks.control.stop or event.kind == "validated")
    stopped = start_run(preset(images, mode), tmp_path / "broken", hooks=hooks)
    assert stopped.status == "stopped"
    resumed = resume_run(stopped.folder, tmp_path / "broken")
    assert resumed.status == "completed"
    assert resumed.step == whole.step == 9
    for averaged in (False, True):
        one, other = _weights(whole, averaged), _weights(resumed, averaged)
        assert all(torch.equal(tensor, other[name]) for name, tensor in one.items())
    assert resumed.metrics == whole.metrics


def _weights(record: StatusRecord, averaged: bool) -> dict[str, torch.Tensor]:
    model = make_model(NETWORK, sample_facts((3, 12, 12)), 2, seed=1)
    load_weights(Path(str(record.last_checkpoint)), model, averaged=averaged)
    return model.state_dict()


@pytest.fixture(scope="module")
def checkpoint(images: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    record = start_run(preset(images, "loop.epochs=1"), tmp_path_factory.mktemp("workspace"))
    assert RunFolder(Path(record.folder)).status().status == "completed"
    return Path(str(record.last_checkpoint))


@pytest.mark.parametrize("to", ["safetensors", "torch-export", pytest.param("onnx", marks=pytest.mark.slow)])
def test_it_can_be_exported(checkpoint: Path, tmp_path: Path, to: str) -> None:
    outcome = export_checkpoint(checkpoint, to, tmp_path / "out")
    assert outcome.max_difference < 1e-3
