"""The work that every contestant does, and what ours has to show on it. No torch here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Material = Literal["mnist", "cifar", "photos", "drawn"]


@dataclass(frozen=True)
class Job:
    """One table row. ``config`` is a run configuration without the dataset's path."""

    name: str
    title: str
    material: Material
    config: Mapping[str, Any]
    bars: Mapping[str, float] = field(default_factory=dict)
    """The highest ratio of ours to "floor", "textbook" and "peer" (the fastest of them) that will do."""
    loss_tolerance: float = 0.25
    accuracy_tolerance: float = 0.02
    """How far a contestant's loss (as a share) and accuracy (as a difference) may lie from the median of all. They see
    the samples in orders of their own, so that they differ by as much as two seeds do, and no more."""
    samples: tuple[int, int] = (0, 0)
    """Training and validation images, where they are picked or made for the job."""
    warm_up_epochs: int = 0
    """Epochs left out of the time of everybody: a step that is compiled is compiled in the first."""
    floor: str = "floor"
    """The contestant that is the floor of this job."""


OPTIMIZER = {"kind": "adamw", "lr": 1e-3, "weight_decay": 0.01, "decay_bias_and_norm": True}
"""One group of parameters, as everybody else has: the same optimizer."""
SCHEDULE = {"kind": "one_cycle", "max_lr": 3e-3}
SMALL_CNN = {"kind": "small_cnn"}
SPIRAL = {
    "dataset": {"kind": "spiral", "samples": 3200, "noise": 0.5},
    "model": {"kind": "mlp", "hidden": [128, 128]},
    "loop": {"epochs": 200, "batch_size": 64},
    "checkpoints": {"every_steps": 500},
}
MANY_EPOCHS = 20
MNIST = {"kind": "idx", "validation": "split"}
REAL = {"floor": 1.05, "textbook": 0.60, "peer": 0.55}

JOBS = {
    job.name: job
    for job in (
        Job(
            "lab",
            "MNIST, small CNN, batch 128",
            "mnist",
            {"dataset": MNIST, "model": SMALL_CNN, "loop": {"epochs": 1, "batch_size": 128}},
            REAL,
        ),
        Job(
            "lab-accumulated",
            "MNIST, small CNN, batch 32 x 4",
            "mnist",
            {"dataset": MNIST, "model": SMALL_CNN, "loop": {"epochs": 1, "batch_size": 32, "accumulation": 4}},
            REAL,
        ),
        Job(
            "spiral",
            "Spiral, MLP 2-128-128-3, batch 64, eager",
            "drawn",
            SPIRAL,
            {"floor": 1.15, "textbook": 0.60, "peer": 0.60},
        ),
        Job(
            "spiral-compiled",
            "The same, our step and the floor's compiled",
            "drawn",
            {**SPIRAL, "precision": {"compile": "step"}},
            {"floor": 1.15, "textbook": 0.30, "peer": 0.30},
            warm_up_epochs=5,
            floor="floor-compiled",
        ),
        Job(
            "jpeg",
            "CIFAR-10 as JPEG files, small CNN, batch 64",
            "cifar",
            {
                "dataset": {"kind": "image_folder"},
                "model": SMALL_CNN,
                "loop": {"epochs": 1, "batch_size": 64},
            },
            {"floor": 1.10, "textbook": 0.60, "peer": 0.50},
            accuracy_tolerance=0.04,
            samples=(20_000, 4_000),
        ),
        Job(
            "photos",
            "JPEG files of 160 x 160 trained at 64 x 64, small CNN, batch 64",
            "photos",
            {
                "dataset": {"kind": "image_folder", "image_size": 64},
                "model": SMALL_CNN,
                "loop": {"epochs": 2, "batch_size": 64},
            },
            {"floor": 1.10, "textbook": 0.60, "peer": 0.50},
            accuracy_tolerance=0.06,
            samples=(3_200, 640),
        ),
        Job(
            "resnet",
            "CIFAR-10 as JPEG files, ResNet-18, batch 64",
            "cifar",
            {
                "dataset": {"kind": "image_folder"},
                "model": {"kind": "torchvision", "name": "resnet18"},
                "loop": {"epochs": 1, "batch_size": 64},
            },
            {"floor": 1.10},
            accuracy_tolerance=0.08,
            samples=(5_000, 1_000),
        ),
        Job(
            "shapes",
            "Drawn shapes, small CNN: to try the suite out, or where there are no data",
            "drawn",
            {
                "dataset": {"kind": "shapes", "samples": 6000},
                "model": SMALL_CNN,
                "loop": {"epochs": 2, "batch_size": 64},
            },
            accuracy_tolerance=0.06,
        ),
    )
}


def run_config(job: Job, dataset: Mapping[str, Any]) -> dict[str, Any]:
    """The whole configuration of ``job``, with ``dataset`` (its path) filled in."""
    base = {"name": job.name, "optimizer": OPTIMIZER, "schedule": SCHEDULE, "checkpoints": {"every_steps": 100}}
    config = {**base, **job.config}
    return {
        **config,
        "dataset": {**config["dataset"], **dataset},
        "loop": {"clip_norm": 1.0, **config["loop"]},
    }


def scaled(job: Job, share: float) -> Job:
    """``job`` with ``share`` of its images, or of its epochs where there are many."""
    if share == 1.0:
        return job
    loop, dataset = dict(job.config["loop"]), dict(job.config["dataset"])
    if loop["epochs"] >= MANY_EPOCHS:
        loop["epochs"] = max(10, round(loop["epochs"] * share))
    elif "samples" in dataset:
        dataset["samples"] = max(300, round(dataset["samples"] * share))
    train, validation = (max(100, round(count * share)) if count else 0 for count in job.samples)
    return replace(job, config={**job.config, "loop": loop, "dataset": dataset}, samples=(train, validation))
