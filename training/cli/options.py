"""Options that several commands have, and what they mean."""

from __future__ import annotations

import argparse
from pathlib import Path

from training.config import RunConfig, load_config
from training.config.files import read_config_text, read_toml
from training.presets import load_preset
from training.runs.trust import trust_file
from training.runs.workspace import default_workspace, typed_path, with_teacher_found


def add_config(parser: argparse.ArgumentParser) -> None:
    """The configuration that the command is about."""
    help_ = "a TOML file, or preset:NAME for one that comes with the program"
    parser.add_argument("config", metavar="CONFIG.toml", help=help_)


def add_set(parser: argparse.ArgumentParser) -> None:
    """``--set``: changes of single settings."""
    parser.add_argument(
        "--set", action="append", default=[], metavar="section.key=value", dest="overrides", help="change one setting"
    )


def add_profile(parser: argparse.ArgumentParser) -> None:
    """``--profile``."""
    parser.add_argument(
        "--profile", action="store_true", help="measure where the time of the steps goes, and tell it at the end"
    )


def add_workspace(parser: argparse.ArgumentParser) -> None:
    """``--workspace``, and ``--json``."""
    parser.add_argument("--workspace", default=None, metavar="DIR", help="where runs live")
    parser.add_argument("--json", action="store_true", help="end stdout with one JSON object")


def workspace_of(arguments: argparse.Namespace) -> Path:
    """The workspace that was asked for."""
    given: str | None = arguments.workspace
    return typed_path(given).absolute() if given else default_workspace()


def load_given(arguments: argparse.Namespace) -> RunConfig:
    """The configuration that was asked for, with its changes. Raises InputError."""
    name: str = arguments.config
    if name.startswith("preset:"):
        arguments.overrides = with_teacher_found(arguments.overrides, workspace_of(arguments), Path())
        return load_preset(name.removeprefix("preset:"), arguments.overrides, arguments.trust)
    data = read_toml(read_config_text(Path(name)), name)
    arguments.overrides = with_teacher_found(arguments.overrides, workspace_of(arguments), Path(name).parent, data)
    overrides = [*arguments.overrides, *trust_file(Path(name), arguments.overrides, arguments.trust)]
    return load_config(Path(name), overrides)
