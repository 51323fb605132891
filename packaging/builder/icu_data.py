"""The data of ICU, the library that Qt sorts and recodes by, without what Qt never asks it for. Standard library and binutils only:
PyInstaller's own Python reads it."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

LIBRARY = re.compile(r"libicudata\.so\.\d+$")
_UNASKED = re.compile(r"^[^/]+/((brkitr|curr|lang|rbnf|region|translit|unit)/|[^/]+\.(spp|cfu)$)")
"""Where words end in Thai, names of currencies, languages, countries and units, numbers in words, transliteration, host names: Qt has tables
of its own for what it tells of these. It links to collation, converters, calendars, time zones and the case of letters, which stay."""
_ALIGNED = 16


def cut_library(source: Path, target: Path) -> None:
    """Write the library ``source`` to ``target`` with the cut data, under the same name to link to. Raises ValueError where it is
    none of ICU's."""
    found = re.search(rb"icudt\d+_dat", source.read_bytes())
    if found is None:
        raise ValueError(f"{source}: holds no data of ICU.")
    symbol = found[0].decode()
    with TemporaryDirectory(prefix="trainwright-icu-") as folder:
        data, assembly, made = (Path(folder) / name for name in ("data", "data.s", "data.o"))
        data.write_bytes(cut_package(source.read_bytes()))
        lines = [
            ".section .rodata", ".balign 64", f".globl {symbol}", f".type {symbol},@object", f"{symbol}:", f'.incbin "{data}"',
            f".size {symbol}, .-{symbol}", '.section .note.GNU-stack,"",@progbits',
        ]  # fmt: skip
        assembly.write_text("\n".join(lines) + "\n", encoding="utf-8")
        target.parent.mkdir(parents=True, exist_ok=True)
        for command in (
            ["as", "-o", made, assembly],
            ["ld", "-shared", "-soname", source.name, "-z", "noexecstack", "-o", target, made],
        ):
            subprocess.run(command, check=True)
    target.chmod(0o755)


def cut_package(held: bytes) -> bytes:
    """ICU's package of data that is anywhere in ``held``, without what is not asked for: a header, the number of entries, for each of
    them where its name and its data begin (from that number on), the names, the data; the entries in the order of their names."""
    start = held.index(b"\xda\x27") - 2
    (header,) = struct.unpack_from("<H", held, start)
    table = start + header
    (count,) = struct.unpack_from("<I", held, table)
    places = [struct.unpack_from("<II", held, table + 4 + 8 * number) for number in range(count)]
    ends = [place for _, place in places[1:]] + [len(held) - table]
    kept: list[tuple[bytes, bytes]] = []
    for (name, begin), end in zip(places, ends, strict=True):
        called = held[table + name : held.index(b"\0", table + name)]
        if not _UNASKED.match(called.decode("ascii")):
            kept.append((called, held[table + begin : table + end]))
    names, entries, data = bytearray(), bytearray(), bytearray()
    first = _aligned(4 + 8 * len(kept) + sum(len(called) + 1 for called, _ in kept))
    for called, content in kept:
        entries += struct.pack("<II", 4 + 8 * len(kept) + len(names), first + len(data))
        names += called + b"\0"
        data += content.ljust(_aligned(len(content)), b"\0")
    listed = (struct.pack("<I", len(kept)) + entries + names).ljust(first, b"\0")
    return held[start:table] + listed + data


def _aligned(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED
