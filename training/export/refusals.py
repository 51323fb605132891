"""What no script says yet: each is refused with a sentence before anything is written."""

from __future__ import annotations

from training.config import RunConfig
from training.errors import InputError


def refuse_what_no_template_says(config: RunConfig) -> None:
    """Raise InputError, naming the setting, where the templates do not know what ``config`` asks for."""
    if config.loop.after_skips == "roll_back":
        raise InputError(
            "loop.after_skips: a script cannot go back after skipped steps yet; export safetensors, torch-export or onnx instead."
        )
