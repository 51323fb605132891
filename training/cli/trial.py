"""Whether a far end would take a run: told in a sentence, and as JSON for the window."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import JsonValue

from training.errors import TrainingError
from training.streams import print_json, say


def tell_test(test: Callable[[], str], as_json: bool, **about: JsonValue) -> int:
    """Print the sentence of ``test``, or that of the fault it raised; returns the exit code. ``about`` stands in the JSON, too."""
    try:
        told, works = test(), True
    except TrainingError as error:
        told, works = str(error), False
    say(told)
    if as_json:
        print_json(about | {"works": works, "message": told})
    return 0 if works else 1
