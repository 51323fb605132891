"""What options mean that several commands have."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from training.config import RunConfig, load_config
from training.presets import load_preset
from training.runs.cli_consent import trust_file
from training.runs.workspace import default_workspace, parse_path, with_teacher_found
from training.toml_text import read_config_text, read_toml


def workspace_of(arguments: argparse.Namespace) -> Path:
    """The workspace that was asked for."""
    given: str | None = arguments.workspace
    return parse_path(given).absolute() if given else default_workspace()


def load_given(arguments: argparse.Namespace) -> RunConfig:
    """The configuration that was asked for, with its changes. Raises InputError."""
    name: str = arguments.config
    if name.startswith("preset:"):
        arguments.overrides = with_teacher_found(arguments.overrides, workspace_of(arguments), Path())
        return load_preset(name.removeprefix("preset:"), arguments.overrides, arguments.trust)
    data = read_toml(read_config_text(Path(name)), name)
    arguments.overrides = with_teacher_found(arguments.overrides, workspace_of(arguments), Path(name).parent, data)
    agreed = trust_file(Path(name), arguments.overrides) if arguments.trust else []
    return load_config(Path(name), [*arguments.overrides, *agreed])


def chooses_other_data(overrides: Iterable[str]) -> bool:
    """Whether ``--set`` may ask for other samples (the seed draws made ones); another path alone is where the same ones lie here."""
    names = (override.partition("=")[0].strip() for override in overrides)
    return any(name == "seed" or (name.startswith("dataset.") and not name.endswith("path")) for name in names)
