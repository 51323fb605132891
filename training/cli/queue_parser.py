"""What may be typed after ``python -m training queue``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from training.arguments import Parser

_ENGINE = {"metavar": "ENGINE", "help": "train it by this engine, as engines list tells it, or the Python at this path"}


def add_queue_commands(queue: Parser, shared: Mapping[str, Mapping[str, Any]]) -> None:
    """Give the command ``queue`` its own commands; ``shared`` is what several commands take, by their names."""
    commands = queue.add_subparsers(required=True, metavar="WHAT", dest="what")

    def add(name: str, help_: str, *options: str) -> Callable[..., Any]:
        command = commands.add_parser(name, help=help_)
        for option in (*options, "--workspace"):
            command.add_argument(option, **shared[option])
        function = "show" if name == "list" else name.replace("-", "_")
        command.set_defaults(command=f"training.cli.queue:{function}")
        return command.add_argument

    def add_for_entry(name: str, help_: str) -> Callable[..., Any]:
        option = add(name, help_)
        option("id", metavar="ID", help="as queue list tells it")
        return option

    option = add("add", "queue a configuration as it is now", "--ranks", "--set", "--trust", "--json")
    option("config", metavar="CONFIG.toml", help="a TOML file, or preset:NAME for one that comes with the program")
    option("--device", metavar="DEVICE", help="train it there: cpu, mps, cuda:1 (the same as --set precision.device)")
    option("--engine", **_ENGINE)
    option("--top", action="store_true", help="before all that wait")
    add("list", "tell what is at work, what waits and what became of the others", "--json")
    option = add_for_entry("move", "have an entry wait in another place")
    option("place", metavar="PLACE", help="1 for the next one, 2 ..., top or bottom")
    add_for_entry("remove", "take an entry out; its run stays")
    add_for_entry("put-back", "bring back what was removed: one of the last hundred")
    option = add_for_entry("retry", "have one that failed, was stopped or was passed over wait for another turn")
    option("--engine", **_ENGINE)
    add("pause", "begin nothing more; what is at work is finished")
    add("go", "go on after pause")
    only = "take only what asks for this device or for auto, and train it there; by default everything, where each asks to be trained"
    for name, told in (
        ("work", "train what waits, one run after the other, until nothing does; Ctrl+C or SIGTERM stops and keeps"),
        ("start", "the same by a process of its own, which this window or terminal does not take along when it closes"),
        (
            "stop",
            "end that process: its run is stopped and kept, and goes on with the next start; with ID only that run, and the queue goes on with the next one",
        ),
    ):
        option = add(name, told)
        if name == "stop":
            option("id", metavar="ID", nargs="?", help="stop and keep this run, and go on with the next one")
        option("--device", metavar="DEVICE", help=only if name != "stop" else "only the one of this device")
