"""What may be typed after ``python -m training workspace``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from training.arguments import Parser


def add_workspace_commands(workspace: Parser, shared: Mapping[str, Mapping[str, Any]]) -> None:
    """Give the command ``workspace`` its own commands; ``shared`` is what several commands take, by their names."""
    commands = workspace.add_subparsers(required=True, metavar="WHAT", dest="what")
    command = commands.add_parser("move", help="move it to an empty or new folder, every file compared on another disk")
    command.add_argument("to", type=Path, metavar="TO", help="an empty folder, or one that is not there yet")
    for option in ("--workspace", "--json"):
        command.add_argument(option, **shared[option])
    command.add_argument("--plan", action="store_true", help="tell what it takes, and leave it at that")
    deletes = "delete the old folder once all was copied and compared (on the same disk none is left)"
    command.add_argument("--delete-old", action="store_true", help=deletes)
    command.add_argument("--yes", action="store_true", help="begin without asking")
    command.set_defaults(command="training.cli.workspace:move")
