"""A place for copies, of whatever kind fsspec knows: files are sent, read back and compared by their SHA-256."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from training.copies.source import BLOCK, Source
from training.errors import TrainingError
from training.sidecars.faults import Away, Refused

T = TypeVar("T")


class Missing(Away):
    """A file is not there, or not any more."""


def explain_fault(address: str, error: Exception) -> TrainingError:
    """A sentence for a fault of what lies at ``address``."""
    words = getattr(error, "strerror", None) or str(error) or type(error).__name__
    if isinstance(error, FileNotFoundError):
        return Missing(f"{address}: something of the copy is not there ({words}).")
    if isinstance(error, PermissionError | NotADirectoryError | IsADirectoryError | FileExistsError):
        return Refused(f"{address}: cannot be used ({words}); check the address and its permissions.")
    return Away(f"{address}: cannot be used now ({words}).")


class Store:
    """The folder ``address``; keys are paths below it. All methods raise Away or Refused."""

    faults: tuple[type[Exception], ...] = (OSError,)
    """What the file system raises."""

    def __init__(self, address: str, filesystem: Any, root: str) -> None:
        self.address = address
        self._files, self._root = filesystem, root.rstrip("/")

    def send(self, key: str, source: Source) -> None:
        """Have ``source`` lie there; what is there already is not sent again. Raises Changed, too."""
        if not self._holds(key, source):
            self._write(key, source)
            if not self._holds(key, source):
                raise Away(f"{self.address}/{key}: what arrived does not match its digest; it is sent again.")

    def _holds(self, key: str, source: Source) -> bool:
        """Whether that is what lies there, read back."""
        if self._size(key) != source.facts.bytes:
            return False
        known = hashlib.sha256()
        for block in self.read_blocks(key, 0, source.facts.bytes):
            known.update(block)
        return known.hexdigest() == source.facts.sha256

    def _size(self, key: str) -> int:
        """In bytes; -1 where there is nothing."""
        path = self._path(key)
        return self._ask(lambda: int(self._files.size(path) or 0) if self._files.exists(path) else -1)

    def _write(self, key: str, source: Source) -> None:
        def write() -> None:
            self._files.makedirs(self._path(key).rpartition("/")[0], exist_ok=True)
            with self._files.open(self._path(key), "wb") as stream:
                for block in source.read_blocks():
                    stream.write(block)

        self._ask(write)

    def replace(self, key: str, content: bytes) -> None:
        """Put a small file there; a reader finds the old one or the new one."""
        path = self._path(key)

        def write() -> None:
            self._files.makedirs(self._root, exist_ok=True)
            self._files.pipe_file(f"{path}.new", content)
            self._files.mv(f"{path}.new", path)

        self._ask(write)

    def read(self, key: str, most: int) -> bytes | None:
        """A small file, None where there is none; Refused where it has more than ``most`` bytes."""
        size = self._size(key)
        if size > most:
            raise Refused(f"{self.address}/{key}: is larger than anything of its kind; choose another address.")
        return None if size < 0 else b"".join(self.read_blocks(key, 0, size))

    def read_blocks(self, key: str, start: int, end: int) -> Iterator[bytes]:
        """The bytes from ``start`` to ``end``, or as many as there are."""
        path = self._path(key)
        while start < end:
            last = min(end, start + BLOCK)
            block: bytes = self._ask(partial(self._files.cat_file, path, start=start, end=last))
            yield block[: last - start]
            start = last

    def list_keys(self) -> list[str]:
        """Everything that lies there."""
        found = self._ask(lambda: self._files.find(self._root) if self._files.exists(self._root) else [])
        return [str(path)[len(self._root) + 1 :] for path in found]

    def list_folders(self) -> list[str]:
        """The names of the folders right below."""
        found = self._ask(lambda: self._files.ls(self._root, detail=True) if self._files.exists(self._root) else [])
        return sorted(item["name"].rstrip("/").rpartition("/")[2] for item in found if item["type"] == "directory")

    def remove(self, keys: Iterable[str]) -> None:
        """Delete files, and folders that are empty then."""
        folders = set()
        for key in keys:
            self._ask(partial(self._remove_file, self._path(key)))
            folders.add(self._path(key).rpartition("/")[0])
        for folder in folders - {self._root}:
            self._ask(partial(self._remove_empty, folder))

    def _remove_file(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self._files.rm_file(path)

    def _remove_empty(self, folder: str) -> None:
        if self._files.isdir(folder) and not self._files.ls(folder):
            self._files.rmdir(folder)

    def check(self) -> None:
        """Raise Refused for a place that cannot be used, as far as that is seen without writing."""
        if "file" in self._files.protocol and not Path(self._root).parent.is_dir():
            # Made by us it might lie where a disk was to be mounted.
            raise Refused(
                f"{self.address}: there is no folder for it; make {Path(self._root).parent}, or mount its disk."
            )

    def drop_leftovers(self) -> None:
        """Let go of what a copy that was cut short left behind unseen; only files are left here."""

    def _path(self, key: str) -> str:
        return f"{self._root}/{key}"

    def _ask(self, request: Callable[[], T]) -> T:
        try:
            return request()
        except self.faults as error:
            raise self.explain(error) from error

    def explain(self, error: Exception) -> TrainingError:
        """A sentence for a fault of the file system."""
        return explain_fault(self.address, error)
