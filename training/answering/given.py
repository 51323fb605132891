"""What is given to a model: samples that are read when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True)
class Sample:
    """``values`` (*shape,) is what the model takes; None where it could not be read, and ``refused`` says why, a clause. ``items``
    name the rows of a query, ``tokens`` are those of a text."""

    name: str
    values: NDArray[Any] | None = None
    refused: str = ""
    notes: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    tokens: int = 0


@dataclass(frozen=True)
class Given:
    """``count`` samples; ``read(first, last)`` gives those from ``first`` to before ``last``. ``held`` are the bytes of memory that it
    keeps for that."""

    count: int
    read: Callable[[int, int], Iterator[Sample]]
    held: int = 0

    def read_all(self) -> Iterator[Sample]:
        """One after the other."""
        return self.read(0, self.count)


def refuse_file(name: str, why: str) -> Given:
    """A file of which nothing can be read: one sample that says ``why``, a clause."""
    return Given(1, lambda first, last: iter([Sample(name, refused=why)][first:last]))


def join_given(parts: Sequence[Given]) -> Given:
    """The samples of ``parts``, one part behind the other."""

    def read(first: int, last: int) -> Iterator[Sample]:
        begin = 0
        for part in parts:
            yield from part.read(min(max(first - begin, 0), part.count), min(max(last - begin, 0), part.count))
            begin += part.count

    return Given(sum(part.count for part in parts), read, sum(part.held for part in parts))
