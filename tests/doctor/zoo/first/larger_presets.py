"""The presets that are meant for a GPU, or for what somebody else has trained before, as far as a small machine trains them in seconds."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from safetensors.torch import save_file
from torch import Tensor, nn

from tests.doctor.zoo.case import Healthy, Settings
from tests.doctor.zoo.draws import Pixels, draw_shapes, write_shapes
from tests.doctor.zoo.first.networks import CNN
from tests.doctor.zoo.first.presets import digits, healthy_preset, lab

SIDE = 32


def airbench(folder: Path) -> Settings:
    write_shapes(folder / "images", 300, SIDE)
    return {
        "dataset.path": "images",
        "model.channels": [16, 32, 32],
        "loop.epochs": 10,
        "loop.batch_size": 100,
        "loop.validation_batch_size": 200,
    }


def distillation(folder: Path) -> Settings:
    """The teacher is a network of the person's own, trained before on other images of the same kinds."""
    (folder / "teacher.py").write_text(CNN)
    names: dict[str, type[nn.Module]] = {}
    exec(CNN, names)
    drawn = np.concatenate(list(draw_shapes(400, 16, 4, 1, 15.0).values()))[..., :1]
    save_file(_teach(names["ConvNet"](1, 4), drawn, kinds=4, epochs=6), folder / "teacher.safetensors")
    teacher: Settings = {
        "objective.teacher": "teacher.py",
        "objective.teacher_weights": "teacher.safetensors",
        "objective.teacher_inputs": "plain",
    }
    return digits(folder) | teacher


def fine_tuning(folder: Path) -> Settings:
    """No weights are downloaded: these know other images of such shapes."""
    import torchvision

    write_shapes(folder / "images", 120, 2 * SIDE)
    drawn = np.concatenate(list(draw_shapes(80, 2 * SIDE, 6, 1, 25.0).values()))
    save_file(
        _teach(torchvision.models.resnet18(num_classes=6), drawn, kinds=6, epochs=5), folder / "resnet18.safetensors"
    )
    return {
        "dataset.path": "images",
        "dataset.image_size": 2 * SIDE,
        "model.pretrained": "",
        "model.weights": "resnet18.safetensors",
    }


def transformer(folder: Path) -> Settings:
    """timm's smallest, on landscapes that are told apart by their colors."""
    draws = np.random.default_rng(0)
    for name, color in (("desert", (205, 175, 105)), ("forest", (45, 110, 50)), ("sea", (40, 90, 170))):
        (folder / "images" / name).mkdir(parents=True)
        for number in range(300):
            pixels = np.array(color) + draws.normal(0, 20, 3) + draws.normal(0, 25, (SIDE, SIDE, 3))
            Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(folder / "images" / name / f"{number:03}.png")
    return {
        "dataset.path": "images",
        "dataset.image_size": SIDE,
        "model.name": "test_vit",
        "schedule.warmup": 50,
        "precision.compute": "fp32",
        "loop.epochs": 30,
        "loop.batch_size": 32,
        "loop.ema_decay": 0.99,  # of a thirtieth of the preset's steps
    }


def _teach(network: nn.Module, drawn: Pixels, kinds: int, epochs: int) -> dict[str, Tensor]:
    """The weights of ``network`` once it has learned of which of ``kinds`` kinds ``drawn`` images, (N, H, W, C), are: as many of each."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Linear | nn.BatchNorm2d):
            module.reset_parameters()
    images = torch.from_numpy(drawn).permute(0, 3, 1, 2).float() / 255
    labels = torch.arange(kinds).repeat_interleave(len(drawn) // kinds)
    optimizer = torch.optim.AdamW(network.parameters(), 2e-3)
    for _ in range(epochs):
        for rows in torch.randperm(len(images)).split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(images[rows]), labels[rows]).backward()
            optimizer.step()
    torch.set_num_threads(threads)
    return network.state_dict()


LARGER: tuple[Healthy, ...] = (
    healthy_preset("cifar10", airbench, "accuracy", 0.85),
    healthy_preset("distillation", distillation, "accuracy", 0.85),
    healthy_preset("resnet", fine_tuning, "accuracy", 0.8),
    healthy_preset("lab-5-amp", lab, "accuracy", 0.85),
    *([healthy_preset("vit", transformer, "accuracy", 0.8)] if find_spec("timm") else []),
)
LEFT_OUT = {} if find_spec("timm") else {"preset_vit": "timm is not installed"}
