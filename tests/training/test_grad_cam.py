"""Grad-CAM: the map of the paper, whatever the network is written as, and nothing of the network changed."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional

from tests.training.tiny import tiny_images, write_idx
from training.answering.grad_cam import choose_class_of_pixels, choose_target, grad_cam
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


class Tokens(nn.Module):
    """A small vision transformer with a token for the class, by torch's layer or by the function."""

    def __init__(self, by_layer: bool) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.patches = nn.Conv2d(3, 8, 4, 4)
        self.token = nn.Parameter(torch.randn(1, 1, 8))
        self.layer = nn.MultiheadAttention(8, 2, batch_first=True) if by_layer else None
        self.head = nn.Linear(8, 4)

    def forward(self, images: Tensor) -> Tensor:
        tokens = torch.cat([self.token, self.patches(images).flatten(2).transpose(1, 2)], 1)
        if self.layer is not None:
            return self.head(self.layer(tokens, tokens, tokens)[0][:, 0])
        split = tokens.unflatten(2, (2, 4)).transpose(1, 2)
        mixed = functional.scaled_dot_product_attention(split, split, split.clone())
        return self.head(mixed.transpose(1, 2).flatten(2)[:, 0])


@pytest.mark.parametrize("by_layer", [True, False])
def test_a_vision_transformer_tells_by_the_values_that_its_last_attention_mixes(by_layer: bool) -> None:
    network, images = Tokens(by_layer).double(), torch.rand(1, 3, 12, 8, dtype=torch.float64)
    tokens = torch.cat([network.token, network.patches(images).flatten(2).transpose(1, 2)], 1).detach()
    values = tokens.clone().requires_grad_()
    if network.layer is not None:
        mixed = network.layer(values, values, values)[0]
    else:
        own, others = (each.unflatten(2, (2, 4)).transpose(1, 2) for each in (values, tokens))
        mixed = functional.scaled_dot_product_attention(others, others, own).transpose(1, 2).flatten(2)
    (slope,) = torch.autograd.grad(network.head(mixed[:, 0])[0, 1], values)
    weights = slope[0, 1:].mean(0)  # without the token of the class
    coarse = (tokens[0, 1:] @ weights).clamp_min(0).reshape(1, 1, 3, 2)
    expected = functional.interpolate(coarse, size=(12, 8), mode="bilinear")[0, 0]
    found = grad_cam(network, images, PICK)
    torch.testing.assert_close(torch.from_numpy(found.heat), expected, rtol=1e-10, atol=1e-14)
    assert (found.grid, found.kind) == ((3, 2), "attention")


def test_masks_are_explained_at_the_bottom_of_the_network_and_targets_one_by_one() -> None:
    torch.manual_seed(7)
    down, bottom, head = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 6, 3, padding=1), nn.Conv2d(6, 3, 1)
    network = nn.Sequential(down, nn.MaxPool2d(2), bottom, nn.ReLU(), nn.Upsample(scale_factor=2), head).double()
    images = torch.rand(1, 3, 8, 12, dtype=torch.float64)
    scores = network(images).detach()
    answers = scores[0].argmax(0)
    number = int(answers.flatten().bincount().argmax())
    score, chosen = choose_class_of_pixels(scores, None)
    assert float(score) == pytest.approx(float(scores[0, number][answers == number].sum()))
    assert chosen == number
    maps = [
        grad_cam(network, images, partial(lambda at, found: choose_class_of_pixels(found, at)[0], at), deepest=True)
        for at in range(3)
    ]
    assert {(each.grid, each.layer) for each in maps} == {((4, 6), "2")}
    assert not np.array_equal(maps[0].heat, maps[1].heat)
    tasks = [
        {"name": "kind", "classes": ["a", "b", "c"], "first": 0, "last": 3},
        {"name": "old", "classes": ["no", "yes"], "first": 3, "last": 4},
        {"name": "size", "classes": [], "first": 4, "last": 5},
    ]
    row = torch.tensor([[0.5, 2.0, -1.0, -3.0, -0.25]])
    assert [float(choose_target(tasks, row, at)[0]) for at in (None, 0, 1, 2)] == [2.0, 2.0, 3.0, -0.25]  # type: ignore[arg-type]


def test_joined_branches_tell_together() -> None:
    torch.manual_seed(8)
    left, right, head = nn.Conv2d(3, 2, 1), nn.Conv2d(3, 2, 1), nn.Linear(4, 4)

    class Joined(nn.Module):
        def forward(self, images: Tensor) -> Tensor:
            return head(torch.cat([left(images), right(images)], 1).mean((2, 3)))

    images = torch.rand(1, 3, 5, 5)
    both = torch.cat([left(images), right(images)], 1).detach()
    expected = (both[0] * head.weight[1, :, None, None] / 25).sum(0).clamp_min(0).detach()
    torch.testing.assert_close(torch.from_numpy(grad_cam(Joined(), images, PICK).heat).float(), expected)


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
