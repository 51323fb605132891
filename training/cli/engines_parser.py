"""What may be typed after ``python -m training engines``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from training.arguments import Parser
from training.engines.kinds import KINDS


def add_engine_commands(engines: Parser, shared: Mapping[str, Mapping[str, Any]]) -> None:
    """Give the command ``engines`` its own commands; ``shared`` is what several commands take, by their names."""
    commands = engines.add_subparsers(required=True, metavar="WHAT", dest="what")

    def add(name: str, help_: str) -> Callable[..., Any]:
        command = commands.add_parser(name, help=help_)
        command.add_argument("--json", **shared["--json"])
        command.set_defaults(command=f"training.cli.engines:{name}_{'engines' if name == 'list' else 'engine'}")
        return command.add_argument

    which = {
        "metavar": "NAME|PATH",
        "help": "as engines list tells it, a python program, or the folder of an environment",
    }
    option = add("list", "list the Pythons of this machine that can train, and what is known of each")
    option("--all", action="store_true", help="also those that cannot")
    option("--try", action="store_true", dest="try_all", help="try each that was not tried since it changed")
    option = add("try", "find out what a Python can: torch, GPUs, a product of matrices, what is missing")
    option("engine", **which)
    option = add("add", "have a Python listed from now on, and try it")
    option("engine", **which)
    option = add(
        "remove", "delete an engine that was installed here, forget one that was added, or discard an unfinished one"
    )
    option("engine", **which)
    option("--workspace", **shared["--workspace"])
    option("--yes", action="store_true", help="also where unfinished runs were computed by it")
    option = add(
        "install", "install an engine: an environment of its own with torch; asks before anything is downloaded"
    )
    option("kind", choices=tuple(KINDS), metavar="|".join(KINDS), help="cpu, cuda (NVIDIA), rocm (AMD) or apple")
    option("--name", default="", metavar="NAME", help="what it is called, where there is one of this kind already")
    option("--index", default="", metavar="URL", help="take everything from this package index (a mirror) instead")
    option("--proxy", default="", metavar="URL", help="reach it through this proxy; by default HTTPS_PROXY says")
    wheels = "a folder of wheels; without --index nothing else is used (offline)"
    option("--wheels", default="", type=str, metavar="FOLDER", help=wheels)
    option("--python", default="", metavar="PATH", help="what the environment is made with")
    option("--plan", action="store_true", help="tell from where and about how much, and leave it at that")
    option("--anyway", action="store_true", help="also one that this machine has no use for")
    option("--yes", action="store_true", help="begin without asking")
