"""Paths as a person types them, with "~" for a home."""

from __future__ import annotations

from pathlib import Path

from training.errors import InputError


def parse_path(text: str | Path) -> Path:
    """With the home in place of "~"; raises InputError for the home of somebody this machine does not know."""
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise InputError(f"{text}: this machine has no such home folder; write the whole path.") from error


def expand_known_home(text: str | Path) -> Path:
    """The same for what is looked for and judged later: a home that is not known stays as it was typed."""
    try:
        return parse_path(text)
    except InputError:
        return Path(text)
