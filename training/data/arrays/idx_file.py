"""One file in the format of MNIST ("THE IDX FILE FORMAT", LeCun, yann.lecun.com/exdb/mnist), plain or gzipped."""

from __future__ import annotations

import gzip
import hashlib
import io
import math
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import psutil
from numpy.typing import NDArray

from training.errors import InputError, TrainingError, format_bytes

_ADVICE = "Get the file again, or choose another folder."
_AGAIN = "Put the file back as it was and resume the run, or start a new run with the files as they are."
_CHUNK = 4 << 20
_MOST_DEFLATED = 1040  # bytes out of one: deflate's limit is 1032
_MOST_ROWS = 10**8


class IdxFile:
    """The uint8 array in a file, its header checked against its length.

    A plain file stays on disk and is read row by row; a gzipped one is unpacked into memory, in a worker process only
    when it reads. Not memory-mapped: when a mapped file is cut short, the next look at it kills the process (SIGBUS).
    """

    dtype = np.dtype(np.uint8)

    def __init__(self, path: Path, dimensions: int) -> None:
        self.path = path
        self._dimensions = dimensions
        try:
            with path.open("rb", buffering=0) as stream:
                self._stamp = _stamp(stream)
                self._gzipped = stream.read(2) == b"\x1f\x8b"
            self._memory = self._unpack() if self._gzipped else None
            if self._memory is not None:
                self.shape = self._memory.shape
            else:
                with path.open("rb", buffering=0) as stream:
                    self.shape = self._shape(stream.read(self._start), self._stamp[0])
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}.", _ADVICE) from error

    def __len__(self) -> int:
        return self.shape[0]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_memory": None}

    def __getitem__(self, numbers: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Copies of the rows ``numbers``. Raises TrainingError naming the file when it is not what it was."""
        if self._gzipped:
            return self._in_memory()[numbers]
        rows = np.empty((len(numbers), *self.shape[1:]), dtype=np.uint8)
        size = math.prod(self.shape[1:])

        def fill(stream: io.FileIO) -> None:
            place = memoryview(rows.data).cast("B")
            for row, number in enumerate(numbers.tolist()):
                stream.seek(self._start + number * size)
                # Reads less only when the file was cut: its stamp tells.
                stream.readinto(place[row * size : (row + 1) * size])

        if len(numbers):
            self._look(fill)
        return rows

    def take(self) -> NDArray[np.uint8]:
        """The whole array, owned by the caller; what was unpacked is forgotten. Raises TrainingError as ``rows`` does."""
        if self._gzipped:
            memory, self._memory = self._in_memory(), None
            return memory
        whole = np.empty(self.shape, dtype=np.uint8)

        def fill(stream: io.FileIO) -> None:
            stream.seek(self._start)
            rest = memoryview(whole.data).cast("B")
            while rest and (count := stream.readinto(rest)):
                rest = rest[count:]

        self._look(fill)
        return whole

    def add_to(self, digest: hashlib._Hash) -> None:
        """Hash the array's bytes."""
        if self._memory is not None:
            digest.update(self._memory.data.cast("B"))
            return

        def fill(stream: io.FileIO) -> None:
            stream.seek(self._start)
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)

        self._look(fill)

    @property
    def _start(self) -> int:
        """Length of the header."""
        return 4 + 4 * self._dimensions

    def _look(self, fill: Callable[[io.FileIO], None]) -> None:
        """Let ``fill`` read the plain file; raise TrainingError when it vanished or changed since the run began."""
        try:
            with self.path.open("rb", buffering=0) as stream:
                fill(stream)
                same = _stamp(stream) == self._stamp
        except OSError as error:
            raise self._lost(f"cannot be read ({error.strerror or error})") from error
        if not same:
            raise self._lost("has changed")

    def _in_memory(self) -> NDArray[np.uint8]:
        if self._memory is None:
            try:
                with self.path.open("rb") as stream:
                    same = _stamp(stream) == self._stamp
                self._memory = self._unpack()
            except OSError as error:
                raise self._lost(f"cannot be read ({error.strerror or error})") from error
            except InputError as error:
                raise self._lost("has changed") from error
            if not same:
                raise self._lost("has changed")
        return self._memory

    def _lost(self, what: str) -> TrainingError:
        return TrainingError(f"{self.path} was good when the run began, but now it {what}.", _AGAIN)

    def _unpack(self) -> NDArray[np.uint8]:
        try:
            with gzip.open(self.path) as packed:
                stream = cast(BinaryIO, packed)
                header = stream.read(self._start)
                promised = self._promised(header)
                most = max(promised, 0) + 1  # one more than promised tells a lie; a bomb is not unpacked further
                data = np.frombuffer(bytearray(header + stream.read(most)), dtype=np.uint8)  # torch wants it writable
        except EOFError as error:
            raise InputError(f"{self.path} is cut off: the gzip data ends too early.", _ADVICE) from error
        except (zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"{self.path} is damaged: it does not unpack ({error}).", _ADVICE) from error
        return data[self._start :].reshape(self._shape(header, len(data)))

    def _promised(self, header: bytes) -> int:
        """Bytes that should follow a gzipped file's ``header``; raises InputError when they cannot, or would not fit."""
        if len(header) < self._start or header[3] != self._dimensions:
            return 0
        promised = math.prod(_sizes(header))
        if promised > _MOST_DEFLATED * self._stamp[0]:
            raise InputError(f"{self.path} is damaged: its header promises more than the file can hold.", _ADVICE)
        if promised > psutil.virtual_memory().available // 2:
            raise InputError(
                f"{self.path} needs {format_bytes(promised)} of memory when it is unpacked, which is more than there is.",
                "Unpack it with gunzip: a plain file is read piece by piece.",
            )
        return promised

    def _shape(self, header: bytes, length: int) -> tuple[int, ...]:
        """What ``header`` says of an array in a file of ``length`` bytes."""
        file, images = self.path, self._dimensions == 3
        if not length:
            raise InputError(f"{file} is empty.", _ADVICE)
        if len(header) < self._start or header[:2] != b"\0\0":
            raise InputError(f"{file} is not an idx file.", _ADVICE)
        if header[2] != 0x08 or header[3] != self._dimensions:
            wanted = "images (bytes in three dimensions)" if images else "labels (bytes in one dimension)"
            raise InputError(f"{file} is an idx file, but does not hold {wanted}.", _ADVICE)
        shape = _sizes(header)
        if length - len(header) != math.prod(shape):
            raise InputError(
                f"{file} is damaged: its header promises {math.prod(shape)} bytes, but {length - len(header)} follow.",
                _ADVICE,
            )
        if shape[0] > _MOST_ROWS:
            raise InputError(f"{file} promises {shape[0]:,} entries; more than {_MOST_ROWS:,} are not read.", _ADVICE)
        if not math.prod(shape):
            raise InputError(f"{file} holds no {'images' if images else 'labels'}.", _ADVICE)
        return shape


def _sizes(header: bytes) -> tuple[int, ...]:
    """What a whole header promises; of a person's file it has to be known before the file is read or unpacked."""
    return struct.unpack_from(f">{header[3]}I", header, 4)


def _stamp(stream: Any) -> tuple[int, int, int]:
    """Size, time of the last change in nanoseconds, number of the inode: other content has another stamp."""
    status = os.fstat(stream.fileno())
    return status.st_size, status.st_mtime_ns, status.st_ino
