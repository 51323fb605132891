"""What happens to inputs and targets before the network sees them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, by_settings, one_of
from tests.doctor.zoo.draws import ADAM
from tests.doctor.zoo.edit import edit
from tests.doctor.zoo.second import data, samples

PLANTS = edit(
    data.SIGNALS,
    ("Recordings of four machines.", "Plants by measurements of leaf and soil."),
    ("Recordings", "Plants"),
    ('    classes = ["pump", "fan", "saw", "heart"]\n\n', ""),
)


def plants(folder: Path) -> Settings:
    """Grains in units that differ by six orders of magnitude."""
    x, y = samples.draw_grains(2400)
    x = (
        x * np.array([1e-3, 1.0, 2000.0, 1.0, 50.0, 1e-3, 400.0, 0.1]) + np.array([0, 5, 9000, 0, 300, 0, 2000, 1])
    ).astype(np.float32)
    np.savez(folder / "plants.npz", x_train=x[:1900], y_train=y[:1900], x_validation=x[1900:], y_validation=y[1900:])
    (folder / "plants.py").write_text(PLANTS.replace("ARCHIVE", str(folder / "plants.npz")))
    return {
        "dataset.kind": "user_dataset",
        "dataset.path": "plants.py",
        "dataset.random_samples": False,
        "model.kind": "mlp",
        "model.hidden": [64, 64],
        "objective.kind": "classification",
        "loop.epochs": 15,
        "loop.batch_size": 64,
        **ADAM,
    }


NIGHT = '''"""Letters as images, brightened for training."""

import numpy as np
import torch
from torch.utils.data import Dataset


class Letters(Dataset):
    def __init__(self, part):
        archive = np.load("ARCHIVE")
        self.part, self.images, self.kinds = part, archive["x_" + part], archive["y_" + part]

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, index):
        image = torch.from_numpy(self.images[index]).float() / 255
        LINES
        return image[None], int(self.kinds[index])


def build(split: str):
    return Letters(split)
'''


def inverted(folder: Path, faulty: bool) -> Settings:
    """Ink is dark in one part, and bright in the other."""
    x, y = samples.draw_glyphs(2000)
    np.savez(folder / "scans.npz", x_train=x[:1600], y_train=y[:1600], x_validation=x[1600:], y_validation=y[1600:])
    lines = 'if self.part == "train":\n            image = 1 - image' if faulty else "image = 1 - image"
    (folder / "scans.py").write_text(NIGHT.replace("LINES", lines).replace("ARCHIVE", str(folder / "scans.npz")))
    kept = {name: value for name, value in data.glyphs(folder).items() if not name.startswith("dataset.")}
    return kept | {"dataset.kind": "user_images", "dataset.path": "scans.py", "dataset.random_samples": False}


def lamps(folder: Path) -> Settings:
    """Signal lamps by their color, one folder each."""
    draws = np.random.default_rng(3)
    colors = {"red": (220, 40, 40), "yellow": (220, 200, 40), "green": (40, 200, 60), "blue": (50, 70, 220)}
    y, x = np.mgrid[:16, :16]
    for name, color in colors.items():
        (folder / "lamps" / name).mkdir(parents=True)
        for number in range(220):
            cy, cx = draws.uniform(4, 12, 2)
            disc = np.hypot(y - cy, x - cx) < draws.uniform(2.0, 4.0)
            light = np.array(color) * draws.uniform(0.5, 1.0)
            pixels = np.where(disc[..., None], light, draws.uniform(30, 160)) + draws.normal(0, 30, (16, 16, 3))
            image = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
            image.save(folder / "lamps" / name / f"{number:03}.png")
    return {
        "dataset.kind": "image_folder",
        "dataset.path": "lamps",
        "model.kind": "small_cnn",
        "model.channels": [12, 24],
        "model.hidden": 48,
        "objective.kind": "classification",
        "loop.epochs": 10,
        "loop.batch_size": 32,
        **ADAM,
    }


def arrows(folder: Path) -> Settings:
    """Hands of gauges to the four sides."""
    draws = np.random.default_rng(4)
    y, x = np.mgrid[:16, :16] - 7.5
    kind = draws.integers(0, 4, 1200)
    angle = kind * np.pi / 2 + draws.normal(0, 0.25, 1200)
    along = y * -np.sin(angle)[:, None, None] + x * np.cos(angle)[:, None, None]
    beside = np.abs(y * np.cos(angle)[:, None, None] + x * np.sin(angle)[:, None, None])
    images = 60 + 140 * ((along > -1) & (along < 7) & (beside < 1.2)) + draws.normal(0, 35, along.shape)
    np.savez(folder / "vanes.npz", x=np.clip(images, 0, 255).astype(np.uint8), y=kind)
    return data.glyphs(folder) | {"dataset.path": "vanes.npz"}


def threads(folder: Path) -> Settings:
    """Cloth whose weave shows in lines of one pixel: along, across, slanted."""
    draws = np.random.default_rng(6)
    y, x = np.mgrid[:32, :32]
    forms = {"along": x, "across": y, "slanted": x + y}
    for name, form in forms.items():
        (folder / "cloth" / name).mkdir(parents=True)
        for number in range(220):
            lines = (form + draws.integers(0, 4)) % 4 < 2
            pixels = draws.uniform(80, 140) + 45 * lines + draws.normal(0, 22, (32, 32))
            Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(folder / "cloth" / name / f"{number:03}.png")
    return {
        "dataset.kind": "image_folder",
        "dataset.path": "cloth",
        "dataset.color": "grey",
        "model.kind": "small_cnn",
        "model.channels": [8, 16],
        "model.hidden": 32,
        "objective.kind": "classification",
        "loop.epochs": 8,
        "loop.batch_size": 32,
        **ADAM,
    }


def bikes_by_sgd(folder: Path) -> Settings:
    return data.bikes(folder) | {"optimizer.kind": "sgd", "optimizer.lr": 0.05, "loop.epochs": 30}


CASES = (
    Case(
        "meters_and_millimeters",
        "preprocessing",
        "My Dataset has all measurements in the units in which they were taken, and normalization is off.",
        "inputs from thousandths to thousands, not normalized",
        by_settings(plants, {"dataset.normalize": False}),
        ("unscaled inputs",),
        (Fix("normalize", {"dataset.normalize": one_of(True)}),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "bicycles_as_counted",
        "preprocessing",
        "I want predictions in bicycles, so I do not standardize the targets.",
        "targets of up to several hundred, not standardized, with SGD",
        by_settings(bikes_by_sgd, {"objective.standardise": False}),
        ("unscaled targets",),
        (Fix("standardize", {"objective.standardise": one_of(True)}),),
        Harm("r2", 0.06),
    ),
    Case(
        "ink_on_paper_and_paper_on_ink",
        "preprocessing",
        "Training goes well, validation does not at all.",
        "only the training images are inverted",
        inverted,
        ("parts preprocessed differently",),
        (Fix("invert both, or none", names=("scans.py", "__getitem__")),),
        Harm("accuracy", 0.2),
    ),
    Case(
        "lamps_of_any_color",
        "preprocessing",
        "Color jitter is said to help with photos of all kinds.",
        "hue turned at random where the class is the color",
        by_settings(lamps, {"dataset.hue": 0.5}),
        ("augmentation changes the label",),
        (Fix("leave the hue", {"dataset.hue": between(0.0, 0.05)}),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "vanes_turned_around",
        "preprocessing",
        "I rotate images as everybody does. The wind comes from anywhere now.",
        "rotation by up to 180 degrees where the class is the direction",
        by_settings(arrows, {"dataset.rotation": 180.0}),
        ("augmentation changes the label",),
        (Fix("rotate by little or nothing", {"dataset.rotation": between(0.0, 20.0)}),),
        Harm("accuracy", 0.15),
    ),
    Case(
        "weave_at_eight_pixels",
        "preprocessing",
        "Eight pixels are enough for a quick start.",
        "images of 32 pixels made so small that their lines vanish",
        by_settings(threads, {"dataset.image_size": 8}),
        ("images too small",),
        (Fix("larger images", {"dataset.image_size": lambda value: value is None or 24 <= value <= 128}),),
        Harm("accuracy", 0.2),
    ),
)
