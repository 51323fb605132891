"""MATLAB files of level 5 as scipy writes them, whole and damaged."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.training.data.mat_files import mat
from training.data.arrays.mat_file import read_arrays, read_list
from training.errors import InputError

# scipy 1.17.1, savemat(..., do_compression=False and True) of a list of texts, bytes, floats and whole numbers.
PLAIN = """
TUFUTEFCIDUuMCBNQVQtZmlsZSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIC
AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAAAAAAAAAAAAABSU0OAAAAOAAAAAYAAAAIAAAABAAAAAAAAAAFAAAACAAAAAEAAAAE
AAAAAQAAAAUAAABuYW1lcwAAABAABAB0ZXh0DgAAAFAAAAAGAAAACAAAAAkAAAAAAAAABQAAAAwAAAACAAAAAwAAAAQAAAAAAAAAAQABAFgAAA
ACAAAAGAAAAAAMBBAIFAENBREJFQIOBhIKFgMPBxMLFw4AAABIAAAABgAAAAgAAAAGAAAAAAAAAAUAAAAIAAAAAwAAAAEAAAABAAEAeQAAAAkA
AAAYAAAAAAAAAAAAJEAAAAAAAAD4PwAAAAAAAAjADgAAAEAAAAAGAAAACAAAAA0AAAAAAAAABQAAAAgAAAABAAAAAwAAAAEAAQBuAAAABgAAAA
wAAAABAAAAcBEBAAMAAAAAAAAA
"""
PACKED = """
TUFUTEFCIDUuMCBNQVQtZmlsZSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIC
AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAAAAAAAAAAAAABSU0PAAAALQAAAHic42NgYLAAYjYg5gBiFgYIYIXyGaFijFCxvMTc
1GIgLQAULUmtKAEAOYkEXg8AAABCAAAAeJwtyMkRgCAQRNFhB2VX0LA8mn8kNAXd9S4/EtEHGiw4WlPggYMAuTvD/93fGbzM9mZBFdd41PXoIp
nrfAZHmAIYDwAAADEAAAB4nONjYGDwAGI2IOaA0iDACuUzAzEjGDMyVAJpTiCWYIABFQcI/cMeQnMcAABLZQN7DwAAAC0AAAB4nONjYGBwAGI2
IOYAYl4GCGCF8hmBmBlMMzLkQdXxQMULBBnBciAAADJHAYM=
"""


# The same, of a list of records, a list of texts and one record with numbers, compressed.
NESTED = """
TUFUTEFCIDUuMCBNQVQtZmlsZSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIC
AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAAAAAAAAAAAAABSU0PAAAAhAAAAHic42NgYIhgZGBgA9IcQMzEAAGsUD4jVAxEcwNx
Yl5efkliSWZ+XjFUHQtYL0ieB4jT8hJzUxmScxKLIfJ8QOzAgDCfBYv5nFAaBASgfAMgMNTLKkiHioPMMUAyhxOLOYxI5jABWXxE2s+LZj+IH1
xQmZ1aFO9sAXUDOfYzA2kA2zwSrQ8AAABpAAAAeJzjY2BguADEbEDMAcSMDBDAisRngtLcQJyck1hcHJ+XmJtaDFbHB8QeSPpZsOgXRDJXAMp3
9FVwT81LLUrMUfAozc1NLYLKg8xzIGAeH5p5/EBcnJtYVKKQll9UUp6vcHglAwB1phNGDwAAAFMAAAB4nONjYGCYAMRsQMwBxEwMEMAK5TMiYZ
CYe0hyTjGYzcLACxUH0cGp6bmpeSWJJZn5eSD9fEBsgWQuJ5q5IHuYofoZoHyQWgZmRhYmoCIAwBoIOg==
"""


@pytest.mark.parametrize("text", [PLAIN, PACKED], ids=["plain", "packed"])
def test_arrays_are_those_that_scipy_wrote(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.mat").write_bytes(base64.b64decode(text))
    pixels, numbers, whole = read_arrays(tmp_path / "a.mat", ("X", "y", "n"))
    assert pixels.dtype == np.uint8
    assert np.array_equal(pixels, np.arange(24).reshape(2, 3, 4))
    assert np.array_equal(numbers, [[10.0], [1.5], [-3.0]])
    assert whole.dtype == np.uint32
    assert whole.tolist() == [[1, 70000, 3]]
    with pytest.raises(InputError, match="holds no array of numbers called names"):
        read_arrays(tmp_path / "a.mat", ("X", "names"))


def test_records_and_texts_are_those_that_scipy_wrote(tmp_path: Path) -> None:
    path = tmp_path / "a.mat"
    path.write_bytes(base64.b64decode(NESTED))
    cars: Any = read_list(path, "annotations")
    truth: Any = read_list(path, "GTcls")
    assert [(car["fname"], car["class"].tolist()) for car in cars] == [("00001.jpg", [[14]]), ("Spyker_C8.jpg", [[3]])]
    assert read_list(path, "class_names") == ["AM General Hummer", "smart fortwo é"]
    assert truth[0]["Segmentation"].tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(InputError, match="holds no list called pixels"):
        read_list(path, "pixels")
    data = path.read_bytes()
    for place in range(124, len(data), 3):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x81]) + data[place + 1 :])
        for name in ("annotations", "class_names", "GTcls"):
            try:
                read_list(path, name)
            except InputError:
                continue


@pytest.mark.parametrize("text", [PLAIN, PACKED], ids=["plain", "packed"])
def test_any_damage_is_refused_or_harmless(text: str, tmp_path: Path) -> None:
    """Cut off anywhere it is refused; a bit that is turned may stand in a number, but never does anything else."""
    data = base64.b64decode(text)
    path = tmp_path / "a.mat"
    for length in range(0, len(data) - 4, 5):
        path.write_bytes(data[:length])
        with pytest.raises(InputError):
            read_arrays(path, ("X", "y", "n"))
    for place in range(124, len(data), 3):
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x81]) + data[place + 1 :])
        try:
            read_arrays(path, ("X", "y", "n"))
        except InputError:
            continue


def test_sizes_beyond_the_file_take_no_memory(tmp_path: Path) -> None:
    mat(tmp_path / "a.mat", {"X": np.zeros((2, 2), np.uint8)}, packed=False)
    data = (tmp_path / "a.mat").read_bytes()
    sizes = np.array([2, 2], "<i4").tobytes()
    assert data.count(sizes) == 1
    for huge in ([2**31 - 1, 2**31 - 1], [-1, 4], [2**15, 2**15]):
        (tmp_path / "a.mat").write_bytes(data.replace(sizes, np.array(huge, "<i4").tobytes()))
        with pytest.raises(InputError, match=r"impossible sizes|does not hold what its sizes promise"):
            read_arrays(tmp_path / "a.mat", ("X",))
