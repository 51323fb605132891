"""``Names``: very many file names in little memory."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray


class Names(Sequence[str]):
    """Texts one behind the other as the file system's bytes: a million paths take 50 MB, a list of str takes 120."""

    def __init__(self) -> None:
        self._text = bytearray()
        self._ends = array("q", [0])

    def append(self, name: str) -> None:
        self._text += os.fsencode(name)
        self._ends.append(len(self._text))

    def raw(self, number: int) -> bytes:
        """The bytes by which the system knows it."""
        return bytes(self._text[self._ends[number] : self._ends[number + 1]])

    def select(self, rows: NDArray[np.int64]) -> Names:
        """Only those, in the order of ``rows``."""
        chosen = Names()
        for row in rows.tolist():
            chosen._text += self.raw(row)
            chosen._ends.append(len(chosen._text))
        return chosen

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> list[str]: ...
    def __getitem__(self, number: int | slice) -> str | list[str]:
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(len(self)))]
        if not -len(self) <= number < len(self):
            raise IndexError(number)
        return os.fsdecode(self.raw(number % len(self)))

    def __iter__(self) -> Iterator[str]:
        return (os.fsdecode(self.raw(number)) for number in range(len(self)))
