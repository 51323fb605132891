"""``python -m training boundary``: the decision boundary of a run as an animation, or as single images."""

from __future__ import annotations

import argparse
from pathlib import Path

from pydantic import JsonValue

from training.cli.options import workspace_of
from training.errors import InputError, pluralize
from training.runs.boundary.frames import read_boundary
from training.runs.boundary.gaps import tell_gaps
from training.runs.boundary.images import MOST_RATE, save_animation, save_images
from training.runs.workspace import find_run
from training.streams import print_json, say


def draw_boundary(arguments: argparse.Namespace) -> int:
    """Write it; returns the exit code."""
    out: Path = arguments.out
    if not 0.1 <= arguments.rate <= MOST_RATE:
        raise InputError(f"--rate: {arguments.rate:g} frames a second; choose between 0.1 and {MOST_RATE}.")
    folder = find_run(arguments.run, workspace_of(arguments))
    boundary = read_boundary(folder.boundary_file)
    if boundary is None or not len(boundary.frames):
        raise InputError(
            f"The run {folder.id} has no decision boundary.",
            "There is one for classes of data with two inputs, after the first validation, where loop.decision_boundary is not off.",
        )
    animated = out.suffix.lower() == ".gif"
    if animated:
        save_animation(boundary, out, arguments.rate)
    else:
        save_images(boundary, out)
    count = len(boundary.frames)
    say(f"{pluralize(count, 'frame')} in {out}.")
    gaps = tell_gaps(folder, boundary)
    if gaps:
        say(gaps)
    if arguments.json:
        told: dict[str, JsonValue] = {"run": folder.id, "out": str(out), "frames": count}
        print_json(told | {"steps": boundary.frames["step"].tolist(), "left_out": gaps or None})
    return 0
