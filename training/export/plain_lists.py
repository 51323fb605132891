"""Reading what a set's own lists say, as short as a person would write it: the exported script has these functions in the
place of those of the same names in ``training.data.known.list_files``."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np


def read_text(path: Path) -> str:
    if not path.exists():
        raise SystemExit(f"{path} is not there; say where the data is with --data.")
    return path.read_text(encoding="utf-8")


def read_lines(path: Path) -> list[str]:
    """The lines of a text that are not empty."""
    return [line.strip() for line in read_text(path).splitlines() if line.strip()]


def read_words(path: Path, count: int) -> Iterator[list[str]]:
    """Of each line, which has ``count``."""
    for line in read_lines(path):
        words = line.split()
        if len(words) != count:
            raise wrong(path, line)
        yield words


def names_by_class(path: Path) -> dict[str, list[str]]:
    """What a JSON file lists for each class."""
    names: dict[str, list[str]] = json.loads(read_text(path))
    return names


def entries(folder: Path, wanted: Callable[[Path], bool]) -> list[str]:
    """Names in the folder, sorted."""
    if not folder.is_dir():
        raise SystemExit(f"{folder} is not there; say where the data is with --data.")
    return sorted(entry.name for entry in folder.iterdir() if wanted(entry))


def class_number(classes: tuple[str, ...], name: str, path: Path) -> int:
    if name not in classes:
        raise wrong(path, name)
    return classes.index(name)


def wrong(path: Path, line: str) -> SystemExit:
    return SystemExit(f"{path} has a line that names no class: {line}.")


def read_arrays(path: Path, names: tuple[str, ...]) -> list[np.ndarray[Any, Any]]:
    """The arrays of numbers of those names in a MATLAB file, in MATLAB's order of dimensions."""
    found = read_mat(path, names)
    return [found[name] for name in names]


def read_list(path: Path, name: str) -> list[Any]:
    """The cells or records of that name in a MATLAB file."""
    cells: list[Any] = read_mat(path, (name,))[name]
    return cells


def read_mat(path: Path, names: tuple[str, ...]) -> dict[str, Any]:
    """What is called so in a MATLAB file of level 5."""
    if not path.exists():
        raise SystemExit(f"{path} is not there; say where the data is with --data.")
    return dict(read_matrix(content, names) for _, content in read_elements(path.read_bytes()[128:]))


def read_matrix(content: bytes, names: tuple[str, ...] = ()) -> tuple[str, Any]:
    """Name and content of an array: numbers, a text, cells as a list, or records as a list of dicts. Only what is called as one
    of ``names``, if any, is looked at."""
    if not content:
        return "", None
    (_, flags), (_, sizes), (_, called), *rest = read_elements(content)
    name, of, fields = called.decode(), flags[0], [""]
    if names and name not in names:
        return name, None
    if of == 2:  # records: how long the names of their fields are, those names, and each record's fields
        (_, width), (_, texts), *rest = rest
        length = int.from_bytes(width, "little")
        fields = [texts[start : start + length].split(b"\0")[0].decode() for start in range(0, len(texts), length)]
    if of in (1, 2):
        values = [read_matrix(each)[1] for _, each in rest]
        rows = [values[start : start + len(fields)] for start in range(0, len(values), len(fields))]
        return name, [dict(zip(fields, row, strict=True)) for row in rows] if of == 2 else values
    kind, data = rest[0]
    if of == 4:
        return name, data.decode({4: "utf-16-le", 16: "utf-8", 17: "utf-16-le"}.get(kind, "latin-1"))
    return name, np.frombuffer(data, NUMBERS[kind]).reshape(np.frombuffer(sizes, "<i4"), order="F")


def read_elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and content of the elements that lie behind one another."""
    place = 0
    while place < len(data):
        kind, length = struct.unpack_from("<II", data, place)
        if kind >> 16:  # a small one: its length stands beside its kind, its content in the other four bytes
            yield kind & 0xFFFF, data[place + 4 : place + 4 + (kind >> 16)]
            place += 8
            continue
        content = data[place + 8 : place + 8 + length]
        if kind == 15:
            yield from read_elements(zlib.decompress(content))
        else:
            yield kind, content
        place += 8 + length + (0 if kind == 15 else -length % 8)


NUMBERS = {1: "<i1", 2: "<u1", 3: "<i2", 4: "<u2", 5: "<i4", 6: "<u4", 7: "<f4", 9: "<f8", 12: "<i8", 13: "<u8"}
