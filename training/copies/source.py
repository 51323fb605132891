"""A file that is copied: so many bytes of it, of a digest that is known before."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from training.errors import CheckpointError
from training.runs.records.forms import FileFacts
from training.system.untrusted import open_file

BLOCK = 8 << 20  # bytes that are read, sent or fetched at once


class Changed(CheckpointError):
    """A file is not what its digest says: damaged, or another one by now."""


@dataclass(frozen=True)
class Source:
    """The first ``facts.bytes`` bytes of ``path``, which may grow; a small file that may be replaced at any time is held as
    ``content``."""

    path: Path
    facts: FileFacts
    content: bytes | None = None

    def open(self) -> BinaryIO:
        """Its bytes from the first on. Raises Changed where they cannot be read."""
        if self.content is not None:
            return io.BytesIO(self.content)
        try:
            return open_file(self.path, 1 << 62)
        except OSError as error:
            raise Changed(f"{self.path}: cannot be read ({error.strerror or error}); it is not copied.") from error

    def read_blocks(self) -> Iterator[bytes]:
        """All of it. Raises Changed at the end where that was not what ``facts`` say."""
        known, left = hashlib.sha256(), self.facts.bytes
        with self.open() as stream:
            while block := stream.read(min(BLOCK, left)):
                known.update(block)
                left -= len(block)
                yield block
        if left or known.hexdigest() != self.facts.sha256:
            raise Changed(f"{self.path}: does not match its digest; it is not copied.")

    def read_block(self, start: int, size: int) -> bytes:
        """Some of it."""
        with self.open() as stream:
            stream.seek(start)
            return stream.read(size)


def take_source(path: Path) -> Source:
    """The file ``path`` as it is now; raises OSError."""
    with open_file(path, 1 << 62) as stream:
        content = stream.read(BLOCK)
        if len(content) < BLOCK:
            return hold(path, content)
        known = hashlib.sha256(content)
        size = len(content)
        while block := stream.read(BLOCK):
            known.update(block)
            size += len(block)
    return Source(path, FileFacts(bytes=size, sha256=known.hexdigest()))


def hold(path: Path, content: bytes) -> Source:
    """``content`` as the file ``path``."""
    return Source(path, FileFacts(bytes=len(content), sha256=hashlib.sha256(content).hexdigest()), content)
