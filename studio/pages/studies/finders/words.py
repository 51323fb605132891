"""How a study's state is called, and what is said of its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from studio.state.formats import kind_title
from studio.state.studies.summary import State
from studio.theme import Tone
from training.config import RunConfig

STATE_WORDS: Mapping[State, tuple[str, Tone]] = {
    "planned": ("Planned", "info"),
    "working": ("At work", "accent"),
    "stopped": ("Stopped", "neutral"),
    "failed": ("Failed", "danger"),
    "done": ("Done", "success"),
    "damaged": ("Damaged", "danger"),
}


def describe_config(config: RunConfig) -> str:
    """ "Small CNN on Drawn shapes, AdamW"."""
    model = kind_title("model", str(getattr(config.model, "name", config.model.kind)))
    data = kind_title("dataset", config.dataset.kind)
    path = getattr(config.dataset, "path", "")
    where = f" ({PurePath(str(path)).name})" if path else ""
    return f"{model} on {data}{where}, {kind_title('optimizer', config.optimizer.kind)}"
