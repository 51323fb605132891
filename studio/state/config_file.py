"""A configuration for a command that works beside the window."""

from __future__ import annotations

from pathlib import Path

from training.config import RunConfig, parse_config, save_config
from training.config.files import config_data
from training.config.paths import with_own_folder


def save_for_command(config: RunConfig, folder: Path) -> Path:
    """Write ``config`` to a file in ``folder``; its relative paths lead from here, wherever the command is at home."""
    file = folder / "configuration.toml"
    save_config(parse_config(with_own_folder(config_data(config))), file)
    return file
