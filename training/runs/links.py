"""A run works inside its own folder only."""

from __future__ import annotations

import os
from pathlib import Path

from training.errors import InputError


def refuse_links(folder: Path) -> None:
    """Raise InputError when something in the run folder ``folder`` is a link, a pipe or a device.

    Working there appends to files and tidies up checkpoints: a link would lead that to another place, and a pipe or a
    device would block it.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink() or not (entry.is_file() or entry.is_dir()):
                what = "a link to another place" if entry.is_symlink() else "no ordinary file"
                raise InputError(
                    f"{folder / entry.name}: is {what}, but a run is worked on in its own folder only; put an ordinary file "
                    "or folder in its place."
                )
