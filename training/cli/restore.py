"""``python -m training restore``: what a rewind set aside, brought back or cleared away."""

from __future__ import annotations

import argparse

from pydantic import JsonValue

from training.cli.options import workspace_of
from training.console import format_run, pick
from training.errors import InputError, format_bytes, format_moment
from training.runs.folder import RunFolder
from training.runs.rewind import SetAside, clear, list_set_aside, restore
from training.runs.workspace import find_run
from training.streams import print_json, say, write_out
from training.system.untrusted import escape_unprintable


def set_aside_records(folder: RunFolder) -> list[JsonValue]:
    """What the run has set aside, newest first, as JSON can hold it."""
    return [pick(item, "name", "path", "step", "reached", "size", "time") for item in list_set_aside(folder)]


def format_set_aside(aside: SetAside) -> str:
    """What a rewind set aside, in one line."""
    steps = f"steps {aside.step + 1:,} to {aside.reached:,}"
    return f"set aside  {aside.name}  {steps}  {format_bytes(aside.size)}  {format_moment(aside.time)}"


def restore_set_aside(arguments: argparse.Namespace) -> int:
    """Bring back, clear away or list what a run has set aside; returns the exit code."""
    folder = find_run(arguments.run, workspace_of(arguments))
    told: dict[str, JsonValue] = {"run": folder.id}
    if arguments.only_list:
        lines = [format_set_aside(item) for item in list_set_aside(folder)] or ["nothing is set aside"]
        write_out("" if arguments.json else "".join(f"{escape_unprintable(line)}\n" for line in lines))
    elif arguments.clear:
        freed = sum(clear(folder, item) for item in _choose(folder, arguments.name))
        told["freed"] = freed
        say(f"Cleared away: {format_bytes(freed)}.")
    else:
        chosen = _choose(folder, arguments.name)[0]
        newer = restore(folder, chosen)
        told["restored"] = chosen.name
        say(f"Restored: {format_run(folder.status())}")
        if newer is not None:
            say(f"What it had trained since is set aside as {newer.name}.")
    if arguments.json:
        print_json(told | {"set_aside": set_aside_records(folder)})
    return 0


def _choose(folder: RunFolder, name: str | None) -> list[SetAside]:
    """What is meant, the newest first."""
    known = list_set_aside(folder)
    found = [item for item in known if name is None or item.name == name]
    if not found:
        there = f"there {'are' if len(known) > 1 else 'is'} {', '.join(item.name for item in known)}"
        lacking = f"nothing called {escape_unprintable(str(name), 100)}; {there}" if known else "nothing"
        raise InputError(f"The run {folder.id} has set aside {lacking}.")
    return found
