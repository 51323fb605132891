"""Where an export goes: beside its final name first, and there only once it is proven."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from training.errors import InputError
from training.runs.export_consent import FACTS
from training.runs.export_place import read_earlier
from training.system.atomic import sync_folder

TOKENIZER = "tokenizer.json"


@contextmanager
def write_beside(folder: Path) -> Iterator[Path]:
    """A temporary folder beside ``folder`` to write into; after the block its files are moved into ``folder``.

    Where ``folder`` is new it appears whole, by one rename. Otherwise the files are replaced one by one, ``model.json``
    last. After an error nothing is left, not even parent folders made on the way. Raises InputError when the place
    cannot be written.
    """
    made: list[Path] = []
    temporary = folder.parent / f".{folder.name}.{secrets.token_hex(4)}.tmp"
    try:
        try:
            made = make_parents(folder.parent)
            temporary.mkdir()
        except OSError as error:
            raise InputError(f"{folder}: cannot be written ({error.strerror}); choose another place.") from error
        yield temporary
        try:
            _move(temporary, folder)
        except OSError as error:
            raise InputError(f"{folder}: cannot be written ({error.strerror}); choose another place.") from error
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        remove_made(made)
        raise


def make_parents(folder: Path) -> list[Path]:
    """Make ``folder`` and what is missing above it; returns what was made, outermost first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()][::-1]
    for path in missing:
        path.mkdir()
    return missing


def remove_made(folders: list[Path]) -> None:
    """Undo ``make_parents``; a folder into which someone else has put something by now stays."""
    with suppress(OSError):
        for folder in reversed(folders):
            folder.rmdir()


def _refuse_foreign(folder: Path, names: list[str]) -> None:
    """Raise InputError where one of ``names`` lies in ``folder`` and no earlier export of ours put it there."""
    earlier = read_earlier(folder)
    ours = {FACTS, earlier.file.name, *earlier.files} if earlier else set()
    for name in names:
        if (folder / name).exists() and name not in ours:
            raise InputError(f"{folder / name}: is there already and not part of an export; choose another folder.")


def _move(temporary: Path, folder: Path) -> None:
    files = sorted(temporary.iterdir(), key=lambda path: path.name == FACTS)
    for path in files:
        with path.open("rb+") as stream:
            os.fsync(stream.fileno())
    if folder.exists():
        _refuse_foreign(folder, [path.name for path in files])
        for path in files:
            os.replace(path, folder / path.name)
        temporary.rmdir()
        sync_folder(folder)
    else:
        sync_folder(temporary)
        os.replace(temporary, folder)
        sync_folder(folder.parent)
