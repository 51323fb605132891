"""A command that another Python carries out: that of the engine which ``--engine`` names."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from training.engines.overview import find_engine
from training.engines.search import identify
from training.errors import InputError
from training.system.interpreter import run_engine


def hand_over(engine: str, argv: Sequence[str]) -> int | None:
    """Have ``argv`` carried out by ``engine``, in place of this process where the system can; returns the exit code, None where this is
    that engine. Raises InputError."""
    python = find_engine(engine).python
    if identify(python) == identify(sys.executable):
        return None
    try:
        return run_engine(python, _without_engine(argv), instead=True)
    except OSError as error:
        raise InputError(f"The engine {python} could not be started: {error.strerror or error}.") from error


def _without_engine(argv: Sequence[str]) -> list[str]:
    words, left = list(argv), []
    while words:
        word = words.pop(0)
        if word == "--engine":
            words.pop(0)
        elif not word.startswith("--engine="):
            left.append(word)
    return left
