"""Paths into the workspace that its own files keep, as they have to read after it was moved.

A run's ``config.toml`` says what ran and is never edited; where its files are now is said in ``places.json``. What is still to be
trained (of the queue, sweeps and studies) and notes of exports are changed themselves.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from training.errors import InputError
from training.runs.folder import RunFolder, read_json
from training.runs.records import exports
from training.runs.relocation import KEPT, MOVED, PLACES
from training.system.atomic import write_bytes
from training.system.untrusted import MEGABYTE, parse_json, read_bytes
from training.toml_text import read_table

Change = tuple[bytes | None, bytes]
"""What a file holds, None where there is none, and what it has to hold."""
_MOST_BYTES = 64 * MEGABYTE
_DATABASE = "sqlite:///"
_TOML = ("queue/entries/*/config.toml", "sweeps/*/config.toml", "sweeps/*/trials/*/config.toml")
_JSON = ("sweeps/*/sweep.json", "studies/*/plan.json")


def find_changes(root: Path, old: Path, new: Path) -> dict[str, Change]:
    """What has to be changed in the workspace that lies in ``root``, by paths relative to it, once it is called ``new`` and no
    longer ``old``."""
    move = make_mover(old, new)
    found: dict[str, Change] = {}
    for path, rewrite in _list_files(root):
        try:
            before = read_bytes(path, _MOST_BYTES)
        except FileNotFoundError:
            before = None
        except OSError:  # it cannot be read, here as there
            continue
        try:
            after = rewrite(path, before, move)
        except (ValueError, RecursionError):  # damaged: its readers say so, there as here
            continue
        if after is not None and after != before:
            found[path.relative_to(root).as_posix()] = before, after
    return found


def write_changes(root: Path, changes: Mapping[str, Change], back: bool = False) -> None:
    """Have the files hold what they have to, or again what they held. Their times stay: runs and others are listed by these."""
    for name, (before, after) in changes.items():
        path, wanted = root / name, before if back else after
        if wanted is None:
            path.unlink(missing_ok=True)
            continue
        times = path.stat() if path.exists() else None
        write_bytes(path, wanted)
        if times is not None:
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


Move = Callable[[str], str]
Rewrite = Callable[[Path, "bytes | None", Move], "bytes | None"]


def make_mover(workspace: Path, target: Path) -> Move:
    """What a path into ``workspace`` reads as once that is ``target``; other texts stay as they are."""
    old, new = str(workspace), str(target)

    def move(text: str) -> str:
        begin = _DATABASE if text.startswith(_DATABASE + old) else ""
        rest = text[len(begin) :]
        inside = rest == old or rest.startswith((old + "/", old + os.sep))
        return begin + new + rest[len(old) :] if inside else text

    return move


def move_all(value: Any, move: Move) -> Any:
    """``value``, as JSON and TOML have it, with all texts in it moved."""
    if isinstance(value, str):
        return move(value)
    if isinstance(value, list):
        return [move_all(each, move) for each in value]
    if isinstance(value, dict):
        return {key: move_all(each, move) for key, each in value.items()}
    return value


def _list_files(root: Path) -> Iterator[tuple[Path, Rewrite]]:
    for pattern in _TOML:
        yield from ((path, _rewrite_toml) for path in sorted(root.glob(pattern)))
    for pattern in _JSON:
        yield from ((path, _rewrite_json) for path in sorted(root.glob(pattern)))
    for config in sorted(root.glob("runs/*/config.toml")):
        yield config.parent / PLACES, _rewrite_places
        yield config.parent / exports.FILE, _rewrite_lines


def _rewrite_json(path: Path, before: bytes | None, move: Move) -> bytes | None:
    data = parse_json(before or b"{}")
    after = move_all(data, move)
    return None if after == data else (json.dumps(after, indent=1) + "\n").encode()


def _rewrite_lines(path: Path, before: bytes | None, move: Move) -> bytes | None:
    if before is None:
        return None
    lines = []
    for line in before.splitlines(keepends=True):
        try:
            data = parse_json(line)
        except (ValueError, RecursionError):  # torn: passed over by its readers
            lines.append(line)
            continue
        after = move_all(data, move)
        lines.append(line if after == data else json.dumps(after).encode() + b"\n")
    return b"".join(lines)


def _rewrite_toml(path: Path, before: bytes | None, move: Move) -> bytes | None:
    import tomlkit  # only writers pay for it

    document = tomlkit.parse((before or b"").decode())
    _move_in_place(document, move)
    return tomlkit.dumps(document).encode()


def _move_in_place(table: Any, move: Move) -> None:
    pairs = list(table.items() if isinstance(table, dict) else enumerate(table))
    for key, value in pairs:
        if isinstance(value, str):
            if (moved := move(str(value))) != value:
                table[key] = moved
        elif isinstance(value, dict | list):
            _move_in_place(value, move)


def _rewrite_places(path: Path, before: bytes | None, move: Move) -> bytes | None:
    try:
        settings = RunFolder(path.parent).settings()
    except InputError:
        return None
    places = move_all(read_json(path), move)
    here = places.setdefault(socket.gethostname(), {})
    if not isinstance(here, dict):
        return None
    for setting in (*KEPT, *MOVED):
        section, _, name = setting.partition(".")
        value = read_table(settings, section).get(name)
        if isinstance(value, str) and (moved := move(value)) != value:
            here.setdefault(setting, moved)
    if before is None and not here:
        return None
    return (json.dumps(places, indent=1) + "\n").encode()
