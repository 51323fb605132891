"""Text in files: found, decoded a piece at a time, and cut where it is to be judged."""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from training.core.readers.text_reading import list_texts
from training.data_report import Skipped
from training.errors import InputError
from training.system.untrusted import escape_unprintable, open_file

_READ = 1 << 20
_MOST_BYTES = 1 << 44
_MOST_FILES = 1_000_000
_MOST_WITHOUT_LINE = 4 << 20  # characters: a text of one endless line is cut anywhere
_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


@dataclass
class TextFiles:
    """The files that ``setting`` ("dataset.path") names, one text after another: a line break ends each that has none.

    ``most`` is how many bytes are read of them, None for all. ``digest`` is known once all was read.
    """

    root: Path
    paths: list[Path]
    encoding: str
    setting: str
    most: int | None = None
    skipped: list[Skipped] = field(default_factory=list)
    digest: str = ""

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        return sum(_size(path) for path in self.paths)

    @property
    def read_share(self) -> float:
        """The share of ``size`` that is read."""
        return 1.0 if self.most is None else min(1.0, self.most / max(1, self.size))

    def pieces(self, read: Callable[[int], None]) -> Iterator[str]:
        """The text in pieces of about a megabyte, cut before a line where one follows another without a gap: so that
        pieces tokenized by themselves give the tokens of the whole. ``read(size)`` hears of bytes read.

        Raises InputError for what is no text in this encoding, and for files that changed since the last time.
        """
        digest = hashlib.sha256()
        waiting = ""
        for text in self._decode_files(digest, read):
            waiting += text
            cut = _last_cut(waiting)
            if not cut and len(waiting) > _MOST_WITHOUT_LINE:
                cut = len(waiting)
            if cut:
                yield waiting[:cut]
                waiting = waiting[cut:]
        if waiting:
            yield waiting
        found = digest.hexdigest()
        if self.digest not in ("", found):
            raise InputError(
                f"{self.setting}: {self.root} changed while it was read.", "Start again once it is complete."
            )
        self.digest = found

    def _decode_files(self, digest: hashlib._Hash, read: Callable[[int], None]) -> Iterator[str]:
        left = self.most
        for number, path in enumerate(self.paths):
            ending = "\n"
            for data, text in self._decode(path, left):
                digest.update(data)
                read(len(data))
                left = None if left is None else left - len(data)
                if text:
                    ending = text[-1]
                    yield text
            if left is not None and left <= 0:
                return
            digest.update(b"\0")  # which is in no text: where one file ends is part of the content
            if ending != "\n" and number < len(self.paths) - 1:
                yield "\n"

    def _decode(self, path: Path, most: int | None) -> Iterator[tuple[bytes, str]]:
        decoder = codecs.getincrementaldecoder("utf-8-sig" if self.encoding == "utf-8" else self.encoding)()
        done = 0
        try:
            with open_file(path, _MOST_BYTES) as stream:
                while True:
                    data = stream.read(_READ if most is None else min(_READ, most - done))
                    done += len(data)
                    last = not data and (most is None or done < most)  # a cut may go through a character
                    try:
                        text = decoder.decode(data, final=last)
                    except UnicodeError as error:
                        if isinstance(error, UnicodeDecodeError) and "BOM" not in error.reason:
                            raise self._undecodable(path, error, done) from None
                        raise InputError(  # without a place before Python 3.13
                            f"{self.setting}: {_show(path)} does not begin as {self.encoding} text does.",
                            "Save it as UTF-8, or choose its encoding (dataset.encoding).",
                        ) from None
                    if "\0" in text:
                        raise InputError(
                            f"{self.setting}: {_show(path)} holds zero bytes, so it is no {self.encoding} text.",
                            "Choose a text file, or its encoding (dataset.encoding).",
                        )
                    yield data, text
                    if not data:
                        return
        except OSError as error:
            raise InputError(
                f"{self.setting}: {_show(path)} cannot be read: {error.strerror or error}.", "Choose another file."
            ) from error

    def _undecodable(self, path: Path, error: UnicodeDecodeError, done: int) -> InputError:
        place = done - len(error.object) + error.start
        with open_file(path, _MOST_BYTES) as stream:
            other = _MARKS.get(stream.read(2), "latin-1")
        return InputError(
            f"{self.setting}: {_show(path)} is no {self.encoding} text: byte 0x{error.object[error.start]:02X} at place "
            f"{place:,} does not fit.",
            f"Save it as UTF-8, or choose its encoding (dataset.encoding), for example {other}.",
        )


def find_text(root: Path, encoding: str, setting: str, most: int | None = None) -> TextFiles:
    """The text file ``root``, or every .txt file below the folder ``root`` in the order of its path, those in hidden folders
    excepted. Raises InputError when there is none."""
    if not root.is_dir():
        if not root.is_file():
            raise InputError(f"{setting}: {_show(root)} is no file or folder.", "Choose a text file.")
        return TextFiles(root, [root], encoding, setting, most)
    try:
        found = list_texts(root)
    except OSError as error:
        raise InputError(
            f"{setting}: {_show(root)} cannot be read: {error.strerror or error}.", "Choose another folder."
        ) from error
    files = TextFiles(root, [], encoding, setting, most)
    for path in found[:_MOST_FILES]:
        if not path.is_file():
            files.skipped.append(Skipped(_name(path, root), "not an ordinary file"))
        elif not _size(path):
            files.skipped.append(Skipped(_name(path, root), "empty file"))
        else:
            files.paths.append(path)
    if not files.paths:
        raise InputError(
            f"{setting}: {_show(root)} holds no .txt file with text.", "Choose a text file or another folder."
        )
    return files


def split_pieces(pieces: Iterator[str], at: int) -> Iterator[tuple[bool, str]]:
    """Each piece with whether it comes before character number ``at``; the one that goes across is cut there."""
    done = 0
    for piece in pieces:
        before = max(0, min(len(piece), at - done))
        done += len(piece)
        if before:
            yield True, piece[:before]
        if before < len(piece):
            yield False, piece[before:]


def _last_cut(text: str) -> int:
    """Behind the last line break that stands between two visible characters; 0 without one."""
    end = text.rfind("\n")
    while end > 0:
        if end + 1 < len(text) and not text[end - 1].isspace() and not text[end + 1].isspace():
            return end + 1
        end = text.rfind("\n", 0, end)
    return 0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # gone: opening it will say so


def _name(path: Path, root: Path) -> str:
    return escape_unprintable(path.relative_to(root).as_posix(), 300)


def _show(path: Path) -> str:
    return escape_unprintable(str(path), 300)
