"""Grad-CAM: the map of the paper, whatever the network is written as, and nothing of the network changed."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional

from tests.training.tiny import tiny_images, write_idx
from training.answering.grad_cam import grad_cam
from training.engine.runs.run import start_run
from training.errors import InputError
from training.protocol.messages import Done, Refusal, Reply
from training.protocol.model_answers import ImageAttention
from training.protocol.model_questions import ExplainImage
from training.serve import Server

PICK: Callable[[Tensor], Tensor] = lambda scores: scores[0, 1]  # noqa: E731


class Written(nn.Module):
    """A convolution called as a function, ReLU in place behind it, and a small one without places after."""

    def __init__(self, first: nn.Conv2d, last: nn.Conv2d, head: nn.Linear) -> None:
        super().__init__()
        self.first, self.last, self.head = first, last, head
        self.squeeze = nn.Conv2d(last.out_channels, last.out_channels, 1)
        nn.init.zeros_(self.squeeze.weight)
        nn.init.ones_(self.squeeze.bias)  # type: ignore[arg-type]

    def forward(self, images: Tensor) -> Tensor:
        before = self.first(images).relu_()
        found = functional.conv2d(before, self.last.weight, self.last.bias, stride=2).relu_()
        return self.head((found * self.squeeze(found.mean((2, 3), keepdim=True))).mean((2, 3)))


def parts() -> tuple[nn.Conv2d, nn.Conv2d, nn.Linear]:
    torch.manual_seed(3)
    return nn.Conv2d(3, 5, 3).double(), nn.Conv2d(5, 6, 3, stride=2).double(), nn.Linear(6, 4).double()


def test_the_map_is_that_of_the_paper_and_nothing_of_the_network_changes() -> None:
    first, last, head = parts()
    images = torch.rand(1, 3, 21, 17, dtype=torch.float64)
    channels = last(first(images).relu()).detach().requires_grad_()
    head(channels.relu().mean((2, 3)))[0, 1].backward()
    assert channels.grad is not None
    weights = channels.grad.mean((2, 3))[0]
    coarse = sum(weight * channel for weight, channel in zip(weights, channels.detach()[0], strict=True)).clamp_min(0)
    expected = functional.interpolate(coarse[None, None], size=(21, 17), mode="bilinear")[0, 0]
    assert expected.max() > 0
    layered = nn.Sequential(
        first, nn.ReLU(inplace=True), last, nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1), nn.Flatten(), head
    )
    written = Written(first, last, head).double()
    for network, layer in ((layered, "2"), (written, "last")):
        network.zero_grad()
        network.train()
        network[1].eval() if network is layered else None
        head.weight.requires_grad_(False)
        modes = [module.training for module in network.modules()]
        found = grad_cam(network, images, PICK)
        torch.testing.assert_close(torch.from_numpy(found.heat), expected, rtol=1e-12, atol=1e-14)
        assert (found.grid, found.layer) == ((9, 7), layer)
        assert [module.training for module in network.modules()] == modes
        assert all(parameter.grad is None for parameter in network.parameters())
        assert (head.weight.requires_grad, last.weight.requires_grad) == (False, True)
        assert not any(module._forward_hooks for module in network.modules())


@pytest.mark.parametrize(
    ("network", "reason"),
    [
        (nn.Sequential(nn.Flatten(), nn.Linear(48, 4)), "no convolution"),
        (nn.Sequential(nn.Conv2d(3, 8, 4), nn.Flatten(), nn.Linear(8, 4)), "no convolution whose output has places"),
        (
            nn.Sequential(
                nn.Conv2d(3, 8, 2, 2),
                nn.Flatten(2),
                nn.TransformerEncoderLayer(4, 1, 8),
                nn.Flatten(),
                nn.Linear(32, 4),
            ),
            "attention",
        ),
    ],
    ids=["layers", "one place", "attention"],
)
def test_a_network_that_does_not_tell_where_it_looked_is_refused_in_a_sentence(network: nn.Module, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        grad_cam(network, torch.rand(1, 3, 4, 4), PICK)


def test_the_engine_explains_a_sample_of_the_run_and_the_same_image_in_a_file(tmp_path: Path) -> None:
    config = tiny_images(write_idx(tmp_path / "data"), "loop.epochs=6", "loop.accumulation=1", "model.dropout=0")
    start_run(config, tmp_path)
    checkpoint = sorted(tmp_path.glob("runs/*/checkpoints/step-*"))[-1]
    replies: list[Reply] = []
    server = Server(replies.append, keeps_data=True)

    def ask(**asked: object) -> ImageAttention:
        server.answer(ExplainImage.model_validate({"model": checkpoint, "on": "validation", **asked}))
        answer = replies[-1]
        assert isinstance(answer, Done), answer
        return ImageAttention.model_validate(answer.result)

    shown = [ask(number=0, output=output) for output in range(4)]
    heats = [np.frombuffer(base64.b64decode(each.heat_base64), np.uint8) for each in shown]
    assert [heat.max() for heat in heats] == [0 if each.nothing else 255 for each in shown]
    assert len({each.heat_base64 for each in shown}) > 1
    assert (shown[0].rows, shown[0].columns, heats[0].size) == (6, 6, 144)
    answered = ask(number=0)
    assert answered == shown[answered.output]
    file = tmp_path / "zero.png"
    pixels = np.frombuffer(base64.b64decode(shown[0].image.pixels_base64), np.uint8).reshape(12, 12)
    Image.fromarray(pixels).save(file)
    assert ask(files=[file]) == answered
    server.answer(ExplainImage(model=checkpoint, files=(file,), output=4))
    assert isinstance(replies[-1], Refusal)
    assert "answers no number 4" in replies[-1].message
