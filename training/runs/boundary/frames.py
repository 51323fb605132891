"""``boundary.bin``: what a network answers over the plane of its two inputs, as it was at each validation.

The file begins with the plane as JSON, which never changes; records of one size follow, one for each frame, in the order of
their steps. Nothing rests on it: a run goes on without.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from training.system.atomic import write_bytes
from training.system.untrusted import MEGABYTE, read_bytes

GRID: Final = 100
"""Places along each side of the grid."""
MOST_CLASSES: Final = 256
MOST_FRAMES: Final = 300
"""In the file; where there would be more, they are thinned out evenly over the steps to two thirds of that."""
FRAME: Final = np.dtype(
    [("step", "<i8"), ("epoch", "<i4"), ("classes", "u1", (GRID, GRID)), ("certainty", "u1", (GRID, GRID))]
)
"""``classes`` and ``certainty`` (its probability, 255 being 1) of each place: rows upward, columns to the right."""

Frames = NDArray[np.void]

_MAGIC = b"trainwright boundary 1\n"
_START = len(_MAGIC) + 8
_MOST_PLANE = 2 * MEGABYTE
_MOST_BYTES = _START + _MOST_PLANE + MOST_FRAMES * FRAME.itemsize
_KEPT = MOST_FRAMES * 2 // 3


class Points(BaseModel):
    """Samples of one part of the data, some of them where there are many."""

    model_config = ConfigDict(frozen=True, strict=True)

    x: tuple[float, ...]
    y: tuple[float, ...]
    classes: tuple[int, ...]

    @model_validator(mode="after")
    def _check(self) -> Points:
        if not len(self.x) == len(self.y) == len(self.classes):
            raise ValueError("points without a place or a class")
        return self


class Plane(BaseModel):
    """The part of the plane that is looked at, and the samples in it, all in the data's own units."""

    model_config = ConfigDict(frozen=True, strict=True)

    x: tuple[float, float]
    y: tuple[float, float]
    columns: tuple[str, str]
    """Of the two inputs; "" where they have no name. Then both axes are of one scale."""
    names: tuple[str, ...]
    """Of the classes."""
    train: Points
    validation: Points

    @model_validator(mode="after")
    def _check(self) -> Plane:
        classes = [*self.train.classes, *self.validation.classes]
        if not (self.x[0] < self.x[1] and self.y[0] < self.y[1] and 2 <= len(self.names) <= MOST_CLASSES):
            raise ValueError("no plane")
        if classes and not 0 <= min(classes) <= max(classes) < len(self.names):
            raise ValueError("points of unknown classes")
        return self

    def centers(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The grid's places along x and along y: the middles of equal intervals."""
        return grid_centers(*self.x), grid_centers(*self.y)


def grid_centers(low: float, high: float) -> NDArray[np.float64]:
    """The middles of ``GRID`` equal intervals."""
    return low + (np.arange(GRID) + 0.5) / GRID * (high - low)


@dataclass(frozen=True)
class Boundary:
    """What a run's file holds: its plane, and ``frames`` of it in the order of their steps."""

    plane: Plane
    frames: Frames


def read_boundary(path: Path) -> Boundary | None:
    """What ``path`` holds, without a frame that is half written; None when there is no such file, or it is damaged."""
    try:
        data = read_bytes(path, _MOST_BYTES)
        size = _plane_size(data)
        plane = Plane.model_validate_json(data[_START : _START + size])
    except (OSError, ValueError, ValidationError):
        return None
    whole = (len(data) - _START - size) // FRAME.itemsize
    frames = np.frombuffer(data, FRAME, whole, _START + size)
    in_order = bool((np.diff(frames["step"]) > 0).all()) and frames["classes"].max(initial=0) < len(plane.names)
    return Boundary(plane, frames) if in_order else None


def copy_boundary(source: Path, target: Path, step: int) -> None:
    """Make ``target`` of ``source``'s frames up to ``step``; nothing where there is no such file."""
    boundary = read_boundary(source)
    if boundary is not None:
        frames = boundary.frames[boundary.frames["step"] <= step]
        target.write_bytes(_head(boundary.plane) + frames.tobytes())


def _plane_size(data: bytes) -> int:
    if not data.startswith(_MAGIC):
        raise ValueError("another kind of file")
    size = int.from_bytes(data[len(_MAGIC) : _START], "little")
    if not 0 < size <= min(_MOST_PLANE, len(data) - _START):
        raise ValueError("cut off")
    return size


def _head(plane: Plane) -> bytes:
    text = plane.model_dump_json().encode()
    return _MAGIC + len(text).to_bytes(8, "little") + text


class BoundaryFile:
    """Writes ``path``. No file is held open between two frames. Raises OSError as writing does."""

    def __init__(self, path: Path, plane: Plane, step: int) -> None:
        """Go on with the file of the same plane, of which frames beyond ``step`` are void; else begin it."""
        self._path = path
        self._head = _head(plane)
        known = read_boundary(path)
        self._steps: list[int] = []
        if known is None or _head(known.plane) != self._head:
            write_bytes(path, self._head, durable=False)
        else:
            self._steps = known.frames["step"].tolist()
            self.cut(step)

    def cut(self, step: int) -> None:
        """Drop the frames beyond ``step``, and what may be left of one that was half written."""
        self._steps = [each for each in self._steps if each <= step]
        os.truncate(self._path, self._size())

    def add(self, step: int, epoch: int, classes: NDArray[np.uint8], certainty: NDArray[np.uint8]) -> None:
        """Append a frame; both arrays are (GRID, GRID). Another one of this step, or of later ones, makes room for it."""
        self.cut(step - 1)
        if len(self._steps) >= MOST_FRAMES:
            self._thin_out()
        frame = np.array([(step, epoch, classes, certainty)], FRAME)
        with self._path.open("r+b") as stream:
            stream.seek(self._size())
            stream.write(frame.tobytes())
        self._steps.append(step)

    def _size(self) -> int:
        return len(self._head) + len(self._steps) * FRAME.itemsize

    def _thin_out(self) -> None:
        kept = thin_steps(self._steps, _KEPT)
        data = self._path.read_bytes()
        size, first = FRAME.itemsize, len(self._head)
        frames = [data[first + at * size : first + (at + 1) * size] for at in kept]
        write_bytes(self._path, self._head + b"".join(frames), durable=False)
        self._steps = [self._steps[at] for at in kept]


def thin_steps(steps: Sequence[int], most: int) -> list[int]:
    """The places in the rising ``steps`` of at most so many, first and last among them, that lie nearest to evenly spaced ones."""
    wanted = np.linspace(steps[0], steps[-1], most)
    near = np.abs(np.asarray(steps)[:, None] - wanted[None, :]).argmin(axis=0)
    return np.unique(near).tolist()
