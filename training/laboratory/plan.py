"""What each step is to be run with: its preset, on the data and the share of it that were asked for, which is written as idx files
of their own: the first images of each class."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.config import RunConfig, apply_overrides, parse_config
from training.data.source import Opening
from training.data.sources import open_source
from training.data.sources.idx import open_idx_folder
from training.data.splits import split_source
from training.errors import ConfigError, InputError, Problem, pluralize
from training.laboratory.steps import CRASH_EPOCH, Step
from training.presets import preset_text
from training.system.atomic import write_bytes
from training.toml_text import read_table, read_toml

SHAPES_SAMPLES = 6000  # images that are drawn where no data is given, as the built-in sample has
_FEWEST_SHAPES = 60
_PREFIXES = {"train": "train", "test": "t10k"}
_FEWEST_STEPS = 20  # of an epoch: with fewer, shares and averages say little


def data_overrides(folder: Path | None, share: float) -> list[str]:
    """The settings, as ``--set`` takes them, that put a preset on the idx files in ``folder``, or on drawn shapes."""
    if folder is not None:
        return [f"dataset.path={folder}"]
    return ["dataset.kind=shapes", f"dataset.samples={max(round(SHAPES_SAMPLES * share), _FEWEST_SHAPES)}"]


def device_overrides(step: Step, device_type: str) -> list[str]:
    """What an NVIDIA GPU changes: mixed precision means fp16 with a gradient scaler, as the references have it, and only
    deterministic kernels repeat a run to the bit."""
    if device_type != "cuda":
        return []
    mixed = "compute" in read_table(read_toml(preset_text(step.preset), step.preset), "precision")
    return ["deterministic=true", *(["precision.compute=fp16"] if mixed else [])]


def step_config(step: Step, overrides: Sequence[str]) -> RunConfig:
    """What ``step`` runs with; raises ConfigError where ``overrides`` make it impossible."""
    source = f"preset:{step.preset}"
    data = read_toml(preset_text(step.preset), source)
    apply_overrides(data, overrides)
    config = parse_config(data, source, folder=Path.cwd())
    if config.loop.epochs < CRASH_EPOCH:
        message = f"must be at least {CRASH_EPOCH}, because the last run is killed in epoch {CRASH_EPOCH}."
        raise ConfigError([Problem("loop.epochs", message)], "lab")
    if config.loop.max_steps is not None:
        message = f"the laboratory needs whole epochs to be killed in epoch {CRASH_EPOCH}; lower --share instead."
        raise ConfigError([Problem("loop.max_steps", message)], "lab")
    return config


def describe_few_steps(config: RunConfig) -> str:
    """What there is to say beforehand where the data makes short epochs; "" of usual ones."""
    source = open_source(config.dataset, Opening(check=False))
    train = len(split_source(source, config.dataset)["train"])
    steps = config.plan_epoch(train).steps
    all_steps, every = steps * config.loop.epochs, config.checkpoints.every_steps or 0
    if steps >= _FEWEST_STEPS and all_steps >= every:
        return ""
    times = math.ceil(max(_FEWEST_STEPS / steps, every / all_steps))
    words = (
        f"With this share an epoch has {pluralize(steps, 'step')}: the figures of so short runs say little, steps may miss what "
        "they promise, and the last run may end before it is killed."
    )
    if all_steps < every:
        words += (
            f" Checkpoints are due every {every:,} steps, and a run has {all_steps:,}: steps 6 and 7 will miss them."
        )
    return f"{words} Take {times} times as much for figures that mean something."


def write_share(source: Path, share: float, into: Path) -> Path:
    """The folder under ``into`` that holds ``share`` of the idx files in ``source``; written once.

    Raises InputError when ``source`` cannot be read as such files.
    """
    name = hashlib.sha256(f"{source}|{share!r}".encode()).hexdigest()[:8]
    folder = into / f"data-{name}"
    if (folder / "complete").is_file():
        return folder
    whole = open_idx_folder(source)
    images, labels = whole.read_all().squeeze(-1).numpy(), whole.targets.numpy()
    folder.mkdir(parents=True, exist_ok=True)
    for part, places in whole.parts.items():
        chosen = places.numpy()[_first_of_each(labels[places.numpy()], share)]
        _write(folder / f"{_PREFIXES[part]}-images-idx3-ubyte", images[chosen])
        _write(folder / f"{_PREFIXES[part]}-labels-idx1-ubyte", labels[chosen].astype(np.uint8))
    (folder / "complete").touch()
    return folder


def _first_of_each(labels: NDArray[np.int64], share: float) -> NDArray[np.int64]:
    """Where the first ``share`` of each class lie, in the order of the file."""
    wanted = []
    for number in np.unique(labels):
        places = np.flatnonzero(labels == number)
        count = round(len(places) * share)
        if count < 2:
            raise InputError(
                f"--share {share:g} leaves {count} images of class {number}; take a larger share.",
            )
        wanted.append(places[:count])
    return np.sort(np.concatenate(wanted))


def _write(path: Path, data: NDArray[np.uint8]) -> None:
    """``data`` as an idx file of unsigned bytes: two zeros, type 8, the number of dimensions, each size, the bytes."""
    header = bytes([0, 0, 8, data.ndim]) + np.array(data.shape, ">u4").tobytes()
    write_bytes(path, header + np.ascontiguousarray(data).tobytes(), durable=False)
