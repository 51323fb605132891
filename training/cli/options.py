"""What options mean that several commands have."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from training.config import RunConfig
from training.notebook import load_config
from training.runs.workspace import default_workspace, parse_path


def workspace_of(arguments: argparse.Namespace) -> Path:
    """The workspace that was asked for."""
    given: str | None = arguments.workspace
    return parse_path(given).absolute() if given else default_workspace()


def load_given(arguments: argparse.Namespace) -> RunConfig:
    """The configuration that was asked for, with its changes. Raises InputError."""
    return load_config(
        arguments.config, arguments.overrides, trust=arguments.trust, workspace=arguments.workspace or None
    )


def chooses_other_data(overrides: Iterable[str]) -> bool:
    """Whether ``--set`` may ask for other samples (the seed draws made ones); another path alone is where the same ones lie here."""
    names = (override.partition("=")[0].strip() for override in overrides)
    return any(name == "seed" or (name.startswith("dataset.") and not name.endswith("path")) for name in names)
