"""What no script says yet: each is refused with a sentence before anything is written."""

from __future__ import annotations

from training.config import RunConfig
from training.errors import InputError
from training.export.data_listing import refuse_data

INSTEAD = "export safetensors, torch-export or onnx instead"


def refuse_what_no_template_says(config: RunConfig) -> None:
    """Raise InputError, naming the setting, where the templates do not know what ``config`` asks for."""
    refuse_data(config, INSTEAD)
    if config.loop.after_skips == "roll_back":
        raise InputError(f"loop.after_skips: a script cannot go back after skipped steps yet; {INSTEAD}.")
