"""Exclude lists: which samples runs leave out, told by digests of their content in a text file. No torch here.

One line a sample: its digest of 32 hexadecimal digits, then a comment with its name. What follows a # is for people.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from training.errors import InputError
from training.system.atomic import write_bytes
from training.system.untrusted import MEGABYTE, escape_unprintable, read_bytes

_MOST = 256 * MEGABYTE
_DIGEST = re.compile("[0-9a-fA-F]{32}")
_WAIT_SECONDS = 30.0
_HEADER = "# Samples that runs leave out of training, validation and test (dataset.exclude): a digest of the content a line.\n"


def read_exclude_list(path: Path) -> dict[str, str]:
    """The digests that the list has, each with its comment. Raises InputError, naming the line, for what is no list."""
    return {digest: comment for _, digest, comment in _read(path) if digest}


def digest_entries(entries: Iterable[str]) -> str:
    """SHA-256 of the digests ``entries`` in any order."""
    return hashlib.sha256("".join(sorted(entries)).encode()).hexdigest()


def add_to_list(path: Path, entries: Mapping[str, str]) -> int:
    """Append to the list, which is made where there is none, those of ``entries`` (digests and the samples' names) that it lacks;
    returns how many. Lines that are there stay as they are. Raises InputError, having changed nothing."""
    with _claim(path):
        known = _read(path) if path.exists() else []
        had = {digest for _, digest, _ in known}
        new = {digest.lower(): name for digest, name in entries.items() if digest.lower() not in had}
        if wrong := [digest for digest in new if not _DIGEST.fullmatch(digest)]:
            raise ValueError(f"{wrong[0]!r} is no digest")
        if new or not path.exists():
            lines = [line for line, _, _ in known] or [_HEADER]
            _write(path, lines + [f"{digest}  # {escape_unprintable(name, 1000)}\n" for digest, name in new.items()])
        return len(new)


def remove_from_list(path: Path, digests: Collection[str]) -> int:
    """Take the lines of ``digests`` out of the list; returns how many. Raises InputError, having changed nothing."""
    with _claim(path):
        known, gone = _read(path), {digest.lower() for digest in digests}
        kept = [line for line, digest, _ in known if digest not in gone]
        if len(kept) < len(known):
            _write(path, kept)
        return len(known) - len(kept)


@contextmanager
def _claim(path: Path) -> Iterator[None]:
    """Inside, no other process, window or thread changes the list: what it adds would be lost. Raises InputError."""
    lock = FileLock(path.with_name(f".{path.name}.lock"), timeout=_WAIT_SECONDS)
    try:
        lock.acquire()
    except Timeout as error:
        shown = escape_unprintable(str(path), 300)
        raise InputError(f"{shown} is being changed by another program.", "Try again once that is done.") from error
    except OSError as error:
        raise _explain(path, error) from error
    try:
        yield
    finally:
        lock.release()


def keep_exclude_list(chosen: str | None, copy: Path, *others: Path) -> None:
    """Put the list at ``chosen`` into ``copy``, a run's own, unless it lies there; where it is gone, the first of ``others``, the
    copies of the runs before. Raises InputError for one that is damaged, or gone."""
    if chosen is None or copy.is_file():
        return
    source = next((path for path in (Path(chosen), *others) if path.is_file()), Path(chosen))
    _write(copy, [line for line, _, _ in _read(source)])


def _read(path: Path) -> list[tuple[str, str, str]]:
    """Each line as it is, with its digest in small letters ("" where it has none) and its comment."""
    shown = f"dataset.exclude: {escape_unprintable(str(path), 300)}"
    try:
        text = read_bytes(path, _MOST).decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{shown} cannot be read ({error.strerror}).", "Choose another list, or none.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{shown} is no text in UTF-8.", "Choose another list, or none.") from error
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        digest, _, comment = line.partition("#")
        digest = digest.strip().lower()
        if digest and not _DIGEST.fullmatch(digest):
            raise InputError(
                f"{shown}, line {number:,}: '{escape_unprintable(digest, 60)}' is no digest of 32 hexadecimal digits.",
                "Correct the line or take it out.",
            )
        lines.append((f"{line}\n", digest, comment.strip()))
    return lines


def _write(path: Path, lines: Iterable[str]) -> None:
    try:
        write_bytes(path, "".join(lines).encode())
    except OSError as error:
        raise _explain(path, error) from error


def _explain(path: Path, error: OSError) -> InputError:
    shown = escape_unprintable(str(path), 300)
    return InputError(f"{shown} cannot be written ({error.strerror}).", "Choose another place.")
