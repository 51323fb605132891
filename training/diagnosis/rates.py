"""Other learning rates as a patch of the settings."""

from __future__ import annotations

from pydantic import JsonValue

from training.config import RunConfig


def scale_rate(config: RunConfig, factor: float) -> dict[str, JsonValue]:
    """The settings for ``factor`` times the learning rate: where one cycle names its own top, for that."""
    highest = getattr(config.schedule, "max_lr", None)
    path, rate = ("optimizer.lr", config.optimizer.lr) if highest is None else ("schedule.max_lr", highest)
    return {path: float(f"{rate * factor:.3g}")}
