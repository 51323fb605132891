"""CIFAR-10 from JPEG files to 94 % with the preset "cifar10", beside the published record and its conditions."""

from __future__ import annotations

import shutil
import statistics
from pathlib import Path
from typing import Any

from tests.benchmarks.compare.contestants.ours import complete
from tests.benchmarks.gpu.images import folder_of
from tests.benchmarks.gpu.part import Order, Part
from training.config import parse_config
from training.presets import preset_text
from training.runs.records.history import read_history
from training.toml_text import read_toml

PRESET = "cifar10"
PUBLISHED = (
    "Published: airbench94 reaches a mean of 94.01 % on the test images in 3.83 s, compiled in 3.29 s (Keller Jordan, "
    '"94% on CIFAR-10 in 3.29 Seconds on a Single GPU", arXiv 2404.00498), later 3.09 s, and 2.59 s with Muon (its '
    "repository): one A100-SXM4-80GB, the original bytes already on the GPU, 9.9 epochs in half precision, six views of "
    "each test image averaged; reading the data, a first run that is not timed, compiling and validating are not counted."
)


def measure(order: Order) -> Part:
    """A run of each seed; seconds from the first step to the end of the first validation that reaches the target."""
    folder, target = folder_of(order, "cifar", order.size.cifar), order.size.target
    _run(order, folder, seed=10**6)  # not measured: it fills the caches of images and compiled code
    runs = []
    for seed in range(order.rounds):
        runs.append(_run(order, folder, seed))
        found = runs[-1]
        reached = "never" if found["reached"] is None else f"{found['reached']:.2f} s"
        order.say(
            f"  seed {seed}  {target:.0%} after {reached}, {found['accuracy']:.2%} at the end ({found['seconds']:.2f} s)"
        )
    rows = [
        (
            str(seed),
            "never" if found["reached"] is None else f"{found['reached']:.2f}",
            "" if found["epoch"] is None else str(found["epoch"]),
            f"{found['seconds']:.2f}",
            f"{found['accuracy']:.2%}",
        )
        for seed, found in enumerate(runs)
    ]
    times = [found["reached"] for found in runs if found["reached"] is not None]
    accuracy = statistics.mean(found["accuracy"] for found in runs)
    sentence = f"{len(times)} of {len(runs)} seeds reach {target:.0%}"
    sentence += f", after a median of {statistics.median(times):.2f} s" if times else ""
    mean = f"; mean accuracy at the end {accuracy:.2%}."
    return Part(
        f"CIFAR-10 from JPEG files, preset:{PRESET}: {order.size.cifar[0]:,} images to train, {order.size.cifar[1]:,} to judge",
        ("seed", f"seconds to {target:.0%}", "epochs", "seconds in all", "accuracy at the end"),
        rows,
        [(sentence + mean, None)],
        {"runs": runs, "target": target},
        [
            "Seconds from the first step, with a validation over all test images after each epoch, each image seen once, "
            "checkpoints and the log of every step; without reading and decoding the files and without compiling.",
            PUBLISHED,
        ],
    )


def _run(order: Order, folder: Path, seed: int) -> dict[str, Any]:
    data: dict[str, Any] = read_toml(preset_text(PRESET), f"preset:{PRESET}")
    data["seed"] = seed
    data["dataset"]["path"] = str(folder)
    data.setdefault("precision", {})["device"] = order.device
    data["loader"] = {"mode": "resident", "cache": "on", "cache_folder": str(order.place / "pictures")}
    for key, value in order.size.cifar_changes.items():
        section, name = key.split(".")
        data[section][name] = value
    run = complete(parse_config(data), order.place / "workspace")
    history = read_history(run.events_file)
    began = history.attempts[0].time
    shutil.rmtree(run.path)
    validated = [item for item in history.validations if "val/accuracy" in item.metrics]
    reached = next((item for item in validated if item.metrics["val/accuracy"] >= order.size.target), None)
    return {
        "reached": None if reached is None else reached.time - began,
        "epoch": None if reached is None else reached.epoch,
        "seconds": validated[-1].time - began,
        "accuracy": validated[-1].metrics["val/accuracy"],
    }
