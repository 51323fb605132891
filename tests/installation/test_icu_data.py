"""The data of ICU that the frozen window takes along: what Qt sorts by stays, and can be found."""

import importlib
import importlib.util
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "packaging"))
builder = importlib.import_module("builder.icu_data")

_HEADER = struct.pack("<HBB", 32, 0xDA, 0x27).ljust(32, b"\0")
SORT = """
import ctypes, sys
for name in sys.argv[1:]:
    library = ctypes.CDLL(name, ctypes.RTLD_GLOBAL)
number, failed = sys.argv[1].rpartition(".")[2], ctypes.c_int(0)
opened = getattr(library, f"ucol_open_{number}")
opened.restype = ctypes.c_void_p
for language in (b"sv", b"de"):
    collator = ctypes.c_void_p(opened(language, ctypes.byref(failed)))
    words = [(ctypes.c_uint16 * 1)(ord(letter)) for letter in "öz"]
    print(failed.value, getattr(library, f"ucol_strcoll_{number}")(collator, words[0], 1, words[1], 1))
"""


def pack(entries: dict[str, bytes]) -> bytes:
    """As ICU packs its data."""
    names = b"".join(name.encode() + b"\0" for name in entries)
    first, at, name_at = -(-(4 + 8 * len(entries) + len(names)) // 16) * 16, 0, 4 + 8 * len(entries)
    table, data = struct.pack("<I", len(entries)), b""
    for name, content in entries.items():
        table += struct.pack("<II", name_at, first + at)
        padded = content.ljust(-(-len(content) // 16) * 16, b"\0")
        at, name_at, data = at + len(padded), name_at + len(name) + 1, data + padded
    return _HEADER + (table + names).ljust(first, b"\0") + data


def test_only_what_qt_never_asks_for_is_left_out() -> None:
    stay = {"icudt73l/coll/sv.res": b"sorted", "icudt73l/root.res": b"r" * 40, "icudt73l/zone/en.res": b"z"}
    go = {
        "icudt73l/brkitr/thaidict.dict": b"words",
        "icudt73l/rfc3491.spp": b"hosts",
        "icudt73l/curr/en.res": b"dollar",
    }
    held = b"\x7fELF somewhere in a library...".ljust(64, b".") + pack(dict(sorted({**stay, **go}.items())))
    assert builder.cut_package(held) == pack(stay)


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("ld") is None, reason="Qt brings ICU on Linux alone; cut by binutils"
)
def test_a_library_with_the_cut_data_sorts_as_before(tmp_path: Path) -> None:
    spec = importlib.util.find_spec("PySide6")
    assert spec is not None
    assert spec.origin is not None
    libraries = Path(spec.origin).parent / "Qt" / "lib"
    (data,) = (path for path in libraries.glob("libicudata.so.*") if re.search(r"\.so\.\d+$", path.name))
    number = data.suffix
    cut = tmp_path / data.name
    builder.cut_library(data, cut)
    assert cut.stat().st_size < 0.6 * data.stat().st_size
    words = [str(cut), *(str(libraries / f"lib{name}.so{number}") for name in ("icuuc", "icui18n"))]
    done = subprocess.run([sys.executable, "-c", SORT, *words], capture_output=True, text=True, check=True)
    told = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert [order for _, order in told] == [1, -1]  # after z in Swedish, with o in German
    assert all(failed <= 0 for failed, _ in told)


def test_what_is_no_library_of_icu_is_told(tmp_path: Path) -> None:
    other = tmp_path / "libother.so.1"
    other.write_bytes(b"\x7fELF")
    with pytest.raises(ValueError, match=r"libother.so.1: holds no data of ICU\."):
        builder.cut_library(other, tmp_path / "cut")
