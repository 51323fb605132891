"""Keys of servers: from the environment or the system's keyring, never from a file of a run or of ours."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, Literal

from training.errors import InputError

SERVICE = "Trainwright"
"""Under this name keys stand in the system's keyring, each by the name of its variable."""


class KeyringFault(InputError):
    """The keyring cannot be used; the environment can."""


def provide_keys(ways: Sequence[Sequence[str]]) -> str:
    """Put what the keyring holds into this process's environment. ``ways`` are sets of variables, each of which is a key by itself (a
    token; a user and a password): one that is whole in the environment is the key, one of which it has a part is completed, and where
    it has nothing all are looked for. Returns why the keyring could not be asked, "" where all is well or there is none."""
    begun = [way for way in ways if any(name in os.environ for name in way)]
    if any(all(name in os.environ for name in way) for way in begun):
        return ""
    try:
        for name in chain.from_iterable(begun or ways):
            if name not in os.environ and (found := _read(name)):
                os.environ[name] = found
    except KeyringFault as error:
        return str(error)
    return ""


def find_source(variable: str) -> Literal["environment", "keyring", ""]:
    """Where the key of that name comes from; "" where there is none. Raises KeyringFault."""
    return "environment" if variable in os.environ else "keyring" if _read(variable) else ""


def store_key(variable: str, key: str) -> None:
    """Keep ``key`` in the system's keyring; an empty one is taken out of it. Raises KeyringFault, having kept it nowhere."""
    with _explain(variable) as keyring:
        if keyring is None:
            raise KeyringFault(f"keyring is not installed; pip install keyring, or set {variable} in the environment.")
        if key:
            keyring.set_password(SERVICE, variable, key)
        elif keyring.get_password(SERVICE, variable) is not None:
            keyring.delete_password(SERVICE, variable)


def hide_keys(text: str, variables: Sequence[str]) -> str:
    """``text``, which another program wrote, without what this process has as ``variables``; names of users stay."""
    for name in variables:
        if (key := os.environ.get(name)) and not name.endswith("USERNAME"):
            text = text.replace(key, "***")
    return text


def _read(variable: str) -> str:
    """What the keyring holds; "" also where this system has none (a server without a desktop)."""
    with _explain(variable) as keyring:
        if keyring is None or not getattr(keyring.get_keyring(), "priority", 0) > 0:
            return ""
        return keyring.get_password(SERVICE, variable) or ""


@contextmanager
def _explain(variable: str) -> Iterator[Any]:
    """The package; None where it is not installed."""
    try:
        import keyring
        from keyring.errors import KeyringError, NoKeyringError
    except ImportError:
        yield None
        return
    try:
        yield keyring
    except NoKeyringError as error:
        raise KeyringFault(f"This system has no keyring; set {variable} in the environment instead.") from error
    except KeyringError as error:
        words = str(error) or "it is locked"
        raise KeyringFault(
            f"The system's keyring cannot be used ({words}); set {variable} in the environment instead."
        ) from error
