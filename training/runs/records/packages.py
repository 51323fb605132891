"""``packages.json``: what was installed where the attempts of a run were made, each list once, by its digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import fields

from pydantic import TypeAdapter, ValidationError

from training.environment import Environment
from training.errors import InputError
from training.runs.folder import RunFolder, read_json
from training.system.atomic import write_text
from training.system.installed import Package
from training.system.untrusted import MEGABYTE

_MOST_BYTES = 16 * MEGABYTE
_PACKAGES = TypeAdapter(tuple[Package, ...])
_FIELDS = tuple(field.name for field in fields(Package))


def digest_packages(packages: Sequence[Package]) -> str:
    """SHA-256, in hexadecimal, of all that is known of them."""
    return _digest(_plain(packages))


def keep_packages(folder: RunFolder, packages: Sequence[Package]) -> str:
    """Keep the list with the run, beside those of earlier attempts; returns its digest. Raises OSError."""
    plain, known = _plain(packages), read_json(folder.packages_file, _MOST_BYTES)
    digest = _digest(plain)
    if known.get(digest) != plain:
        write_text(folder.packages_file, json.dumps({**known, digest: plain}, indent=1) + "\n")
    return digest


def read_packages(folder: RunFolder, environment: Environment) -> tuple[Package, ...]:
    """What was installed in the ``environment`` of an attempt at the run. Raises InputError where that is not known."""
    if not environment.packages:
        raise InputError(
            f"The run {folder.id} kept no list of its packages: it was begun by an earlier version, or before its first step "
            "something failed. Resume it, and what is installed then is kept."
        )
    try:
        packages = _PACKAGES.validate_python(read_json(folder.packages_file, _MOST_BYTES)[environment.packages])
    except (KeyError, ValidationError):
        packages = ()
    if digest_packages(packages) != environment.packages:
        raise InputError(
            f"{folder.packages_file}: is missing or damaged, so nobody knows what the run was computed with; resume the run, "
            "and what is installed then is kept."
        )
    return packages


def _digest(plain: list[dict[str, str]]) -> str:
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def _plain(packages: Sequence[Package]) -> list[dict[str, str]]:
    """As JSON can hold them, without what is empty."""
    # Not by asdict, which copies: of two hundred packages it would be a fifth of the time that a run of moments takes.
    return [{name: value for name in _FIELDS if (value := getattr(package, name))} for package in packages]
