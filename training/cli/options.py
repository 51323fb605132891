"""What options mean that several commands have."""

from __future__ import annotations

import argparse
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
