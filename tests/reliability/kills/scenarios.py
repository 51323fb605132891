"""The runs that are killed: small, quick, and together with everything that a resume must bring back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from PIL import Image

from tests.training.tiny import tiny, tiny_images, write_idx
from training.catalog import entries
from training.config import RunConfig, save_config

RESIDENT = ("loader.mode=resident",)
READ_BY_THREAD = ("loader.mode=streamed", "loader.workers=0")
READ_BY_ONE = ("loader.mode=streamed", "loader.workers=1")
READ_BY_THREE = ("loader.mode=streamed", "loader.workers=3")

# 600 samples in batches of 17, of which the last has 5; 5 batches a step, of which each epoch's last step has 1.
_ALWAYS = (
    "loop.batch_size=17",
    "loop.accumulation=5",
    "loop.validate_every_steps=5",
    "checkpoints.every_steps=7",
    "checkpoints.keep_last=1",
    "precision.device=cpu",
    "precision.threads=1",  # so that two cores run two engines
)
_PLATEAU = (
    'schedule={kind="plateau", factor=0.5, patience=2, threshold=0.01, cooldown=1}',
    "checkpoints.monitor=val/loss",
)


@dataclass(frozen=True)
class Scenario:
    """A run to be killed; ``loading`` is how its batches are read at first, resumes may do it otherwise."""

    name: str
    data: str  # "idx", "folder", "spiral"
    overrides: tuple[str, ...]
    loading: tuple[str, ...] = RESIDENT

    def config(self, data: Path) -> RunConfig:
        """The run over the files that ``write_data`` made in ``data``."""
        if self.data == "spiral":
            return tiny("dataset.samples=750", *_ALWAYS, "loop.ema_decay=0.9", *self.overrides)
        source = ('dataset.kind="image_folder"', "dataset.image_size=12") if self.data == "folder" else ()
        return tiny_images(data / self.data, *source, *_ALWAYS, *self.overrides, *self.loading)

    def adjusted(self, *overrides: str) -> Scenario:
        """The same with other settings."""
        return replace(self, overrides=(*self.overrides, *overrides))

    def save(self, data: Path, path: Path) -> None:
        """Write the configuration to ``path``."""
        save_config(self.config(data), path)


_CHOSEN = (
    Scenario("adamw, plateau, early stopping", "idx", ('optimizer={kind="adamw", lr=0.01}', *_PLATEAU, "loop.early_stopping_patience=16")),
    Scenario("nesterov, fp16 scaler, streamed by 3 workers", "idx", ('optimizer={kind="sgd", lr=0.1}', "precision.compute=fp16"), READ_BY_THREE),
    Scenario("amsgrad, bf16, one cycle", "idx", ('optimizer={kind="adam", amsgrad=true, weight_decay=0.01}', 'schedule={kind="one_cycle", max_lr=0.01}', "precision.compute=bf16")),
    Scenario("image files, adam, plateau, read by a thread", "folder", ('optimizer={kind="adam", lr=0.005}', *_PLATEAU), READ_BY_THREAD),
    Scenario("momentum without nesterov, fp16 scaler", "idx", ('optimizer={kind="sgd", lr=0.05, nesterov=false, weight_decay=0.001}', 'schedule={kind="wsd"}', "precision.compute=fp16", "loop.clip_value=0.5")),
    Scenario("image files, amsgrad with decoupled decay, 3 workers", "folder", ('optimizer={kind="adamw", amsgrad=true, decay_bias_and_norm=true}', "precision.compute=bf16"), READ_BY_THREE),
    Scenario("points, sgd without momentum, early stopping", "spiral", ('optimizer={kind="sgd", momentum=0.0, nesterov=false, lr=0.1}', 'schedule={kind="constant"}', "loop.early_stopping_patience=12")),
    Scenario("steps, no average, streamed by 1 worker", "idx", ('optimizer={kind="adamw"}', 'schedule={kind="step", step_size=40}', "loop.ema_decay=none"), READ_BY_ONE),
)  # fmt: skip


def _rest_of_catalog() -> tuple[Scenario, ...]:
    """One more scenario for each optimizer of the catalog that none of the above trains with."""
    texts = " ".join(text for scenario in _CHOSEN for text in scenario.overrides)
    kinds = [f'optimizer={{kind="{entry.kind}"' for entry in entries("optimizer")]
    return tuple(Scenario(kind, "idx", (f"{kind}}}",), READ_BY_THREAD) for kind in kinds if kind not in texts)


SCENARIOS = _CHOSEN + _rest_of_catalog()


def write_data(folder: Path) -> Path:
    """All files that the scenarios train on, made from one fixed seed."""
    write_idx(folder / "idx", samples=750)
    generator = np.random.default_rng(0)
    for label in range(3):
        place = folder / "folder" / f"class-{label}"
        place.mkdir(parents=True)
        for number in range(100):
            pixels = generator.integers(0, 90, (14 + number % 3, 14, 3), dtype=np.uint8)
            pixels[..., label] += 100
            Image.fromarray(pixels).save(place / f"{number}.{'png' if number % 2 else 'jpg'}")
    return folder
