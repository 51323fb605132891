"""``python -m training key``: keys of servers, kept in the system's keyring."""

from __future__ import annotations

import argparse
import getpass
import sys
from itertools import chain

from training.console import format_table
from training.copies.settings import KEYS
from training.errors import InputError
from training.sidecars.keys import find_source, store_key
from training.streams import print_json, say, write_out
from training.tracking.settings import VARIABLES

_PLACES = {"environment": "in the environment", "keyring": "in the system's keyring", "": "none"}


def manage_keys(arguments: argparse.Namespace) -> int:
    """Tell where the keys are, keep one that is typed or piped in, or remove one; returns the exit code."""
    name: str | None = arguments.name
    known = [*chain.from_iterable(VARIABLES.values()), *KEYS]
    if name is None:
        if arguments.remove:
            raise InputError(f"--remove: name the key to remove, one of {', '.join(known)}.")
        _tell_places(known, arguments.json)
        return 0
    if name not in known:
        raise InputError(f"{name}: there is no such key; there are {', '.join(known)}.")
    if arguments.remove:
        store_key(name, "")
        say(f"{name} is not in the system's keyring any more.")
    else:
        store_key(name, _read_key(name))
        say(f"{name} is in the system's keyring now.")
    if arguments.json:
        print_json({name: find_source(name)})
    return 0


def _read_key(name: str) -> str:
    key = (getpass.getpass(f"{name} (not shown): ") if sys.stdin.isatty() else sys.stdin.read()).strip()
    if not key or not key.isprintable():
        raise InputError(f"{name}: a key is one line of letters, and none was given.")
    return key


def _tell_places(known: list[str], as_json: bool) -> None:
    places, problem = dict[str, str](), ""
    for name in known:
        try:
            places[name] = find_source(name)
        except InputError as error:
            places[name], problem = "", str(error)
    if as_json:
        print_json({"keys": places, "problem": problem})
        return
    write_out(format_table([(name, _PLACES[place]) for name, place in places.items()], ("", "")))
    if problem:
        say(problem)
