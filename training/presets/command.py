"""``python -m training presets``: what there is, when to use it, what it needs."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from training.presets import PRESETS
from training.streams import print_json, write_out


def list_presets(arguments: argparse.Namespace) -> int:
    """Print them; returns the exit code."""
    if arguments.json:
        print_json({"presets": [asdict(row) for row in PRESETS]})
        return 0
    group = ""
    for row in PRESETS:
        if row.group != group:
            write_out(f"{'' if not group else chr(10)}{row.group}\n")
            group = row.group
        write_out(f"  preset:{row.name}  {row.title}\n      {row.when} Memory: {row.memory}.\n")
        for ask in row.asks:
            write_out(f"      Needs {ask.what}: {ask.option}\n")
    return 0
