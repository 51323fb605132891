"""What each step is to be run with: its preset, on the data and the share of it that were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from training.config import RunConfig, apply_overrides, parse_config
from training.config.files import read_toml
from training.errors import ConfigError, Problem
from training.laboratory.steps import CRASH_EPOCH, Step
from training.presets import preset_text

SHAPES_SAMPLES = 6000  # pictures that are drawn where no data is given, as the built-in sample has
_FEWEST_SHAPES = 60


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
    mixed = "compute" in read_toml(preset_text(step.preset), step.preset).get("precision", {})
    return ["deterministic=true", *(["precision.compute=fp16"] if mixed else [])]


def step_config(step: Step, overrides: Sequence[str]) -> RunConfig:
    """What ``step`` runs with; raises ConfigError where ``overrides`` make it impossible."""
    source = f"preset:{step.preset}"
    data: dict[str, Any] = read_toml(preset_text(step.preset), source)
    apply_overrides(data, overrides)
    config = parse_config(data, source, folder=Path.cwd())
    if config.loop.epochs < CRASH_EPOCH:
        message = f"must be at least {CRASH_EPOCH}, because the last run is killed in epoch {CRASH_EPOCH}."
        raise ConfigError([Problem("loop.epochs", message)], "lab")
    if config.loop.max_steps is not None:
        message = f"the laboratory needs whole epochs to be killed in epoch {CRASH_EPOCH}; lower --share instead."
        raise ConfigError([Problem("loop.max_steps", message)], "lab")
    return config
