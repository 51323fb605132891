"""What options mean that several commands have."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from training.config import RunConfig
from training.notebook import load_config
from training.runs.workspace import default_workspace
from training.streams import say
from training.typed_paths import parse_path


def workspace_of(arguments: argparse.Namespace) -> Path:
    """The workspace that was asked for."""
    given: str | None = arguments.workspace
    return parse_path(given).absolute() if given else default_workspace()


def load_given(arguments: argparse.Namespace) -> RunConfig:
    """The configuration that was asked for, with its changes. Raises InputError."""
    return load_config(
        arguments.config, arguments.overrides, trust=arguments.trust, workspace=arguments.workspace or None
    )


def agree() -> bool:
    """What a person at a terminal says; where there is none, nobody has to be asked."""
    if not (sys.stdin and sys.stdin.isatty()):
        return True
    say("Begin? [Y/n]")
    return sys.stdin.readline().strip().lower() in ("", "y", "yes")
