"""``python -m training about``: what a person says of a run, told or changed."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from training.cli.options import workspace_of
from training.runs.index import index_run
from training.runs.records.about import MOST_NOTES, About, name_of, read_about, update_about
from training.runs.workspace import find_run
from training.streams import print_json, write_out
from training.system.untrusted import escape_unprintable, visible_lines


def tell_about(arguments: argparse.Namespace) -> int:
    """Change what is asked for, then tell all of it; returns the exit code."""
    folder = find_run(arguments.run, workspace_of(arguments))
    about = read_about(folder)
    if _change(about, arguments) != about:
        if arguments.note == "-":
            arguments.note = sys.stdin.read(MOST_NOTES + 1)
        about = update_about(folder, lambda before: _change(before, arguments))
        index_run(folder)
    name = name_of(folder.status(), about)
    if arguments.json:
        print_json({"run": folder.id, **about.dump(), "name": name})
    else:
        write_out(f"run        {escape_unprintable(folder.id)}\n" + format_about(about, name))
    return 0


def format_about(about: About, name: str) -> str:
    """A line for each thing that is said of the run ``name``."""
    lines = [f"name       {escape_unprintable(name)}"]
    lines += ["star       yes"] * about.star
    lines += [f"tags       {', '.join(about.tags)}"] * bool(about.tags)
    lines += ["archived   yes"] * about.archived
    lines += [f"dismissed  {escape_unprintable(', '.join(about.dismissed), 2000)}"] * bool(about.dismissed)
    return "\n".join(lines) + "\n" + (f"{visible_lines(about.notes)}\n" if about.notes else "")


def _change(about: About, arguments: argparse.Namespace) -> About:
    given = {"name": arguments.name, "star": arguments.star, "notes": arguments.note, "archived": arguments.archive}
    tags = replace(about, tags=about.drop_tags(arguments.untag)).add_tags(arguments.tag)
    return replace(about, tags=tags, **{key: value for key, value in given.items() if value is not None})
