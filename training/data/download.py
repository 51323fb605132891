"""Files fetched from the internet, whole and checked, or not at all; what breaks off goes on where it was."""

from __future__ import annotations

import errno
import hashlib
import http.client
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from training.data.source import ReportProgress
from training.data.workplace import workplace
from training.errors import InputError, in_words

_TIMEOUT = 30.0  # seconds without a byte
_CHUNK = 1 << 20
_MOST = 400 * 10**9  # bytes: no file that is fetched here is nearly as large
_MOST_TRIES = 50  # at one address, each of which got further than the one before
MAKE_ROOM = "Make room, or choose a folder on another drive."
_FAULTS = (urllib.error.URLError, http.client.HTTPException, OSError)


@dataclass(frozen=True)
class Remote:
    """A file and where it is to be had; ``digest`` is "sha256:..." or "md5:...", as its makers publish it.

    An archive ``makes`` what tells that it is unpacked, a path below its folder; it may come out of another archive ``inner``
    that the first one holds, or be called ``packed_as`` in it. An ``extra`` one is fetched with the others, but nobody who
    lacks it is asked for it. ``instead`` are other names under which the same may lie there.
    """

    name: str
    urls: tuple[str, ...]
    digest: str
    makes: str = ""
    inner: str = ""
    extra: bool = False
    packed_as: str = ""
    instead: tuple[str, ...] = ()


def is_whole(path: Path, remote: Remote) -> bool:
    """Whether the file at ``path`` is what its makers published. Raises OSError."""
    kind, _, wanted = remote.digest.partition(":")
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: _hash(kind)).hexdigest() == wanted


def download(remote: Remote, folder: Path, report_progress: ReportProgress, later: Sequence[str] = ()) -> Path:
    """Fetch a file into ``folder``, from the first place that has it. Raises InputError in one sentence, which names those to
    be fetched ``later``, too; what came until then is kept out of sight, and the next attempt goes on with it."""
    reasons: list[str] = []
    try:
        busy = f"{remote.name} is being downloaded into {folder}"
        with workplace(folder, f".download-{remote.name}", busy, lambda place: _size(place / "part") > 0) as place:
            part = place / "part"
            for url in remote.urls:
                if _fetch_from(url, part, remote, report_progress, reasons):
                    return part.replace(folder / remote.name)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise InputError(f"{remote.name} does not fit on the drive of {folder}.", MAKE_ROOM) from error
        reasons.append(f"{folder}: {error.strerror or error}")
    raise InputError(
        f"{remote.name} is not in {folder} and cannot be downloaded ({reasons[-1] if reasons else 'no place has it'}).",
        f"Connect to the internet, or get {' or '.join(remote.urls)} elsewhere and put it there"
        + (f"; {', '.join(later)} {'is' if len(later) == 1 else 'are'} missing, too." if later else "."),
    )


def require_room(folder: Path, size: int, what: str) -> None:
    """Raise InputError where ``size`` bytes do not fit on the drive of ``folder``, which need not exist yet."""
    nearest = next((place for place in (folder, *folder.parents) if place.exists()), folder)
    try:
        free = shutil.disk_usage(nearest).free
    except OSError:  # a drive that does not tell; writing to it will
        return
    if free < size:
        raise InputError(
            f"{what} takes {in_words(size)}, but there is room for {in_words(free)} only on the drive of {folder}.",
            MAKE_ROOM,
        )


def _fetch_from(url: str, part: Path, remote: Remote, report_progress: ReportProgress, reasons: list[str]) -> bool:
    """Whether ``part`` holds the file in the end; else one more of the ``reasons``. A connection that breaks off is made
    again as long as that leads further."""
    for _ in range(_MOST_TRIES):
        before = _size(part)
        try:
            if _fetch(url, part, remote, report_progress):
                return True
        except _FAULTS as error:
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise
            reasons.append(f"{url}: {getattr(error, 'reason', None) or error}")
            if _size(part) <= before:
                return False
            continue
        part.unlink(missing_ok=True)
        reasons.append(f"{url} gives another file than it should")
        if not before:
            return False  # otherwise what lay there may have been another file's; once more from the start
    return False


def _fetch(url: str, part: Path, remote: Remote, report_progress: ReportProgress) -> bool:
    """Write what ``url`` gives behind what ``part`` holds already; whether it is the file that was asked for."""
    kind, _, wanted = remote.digest.partition(":")
    digest, done = _hash(kind), _size(part)
    if done:
        with part.open("rb") as stream:
            digest = hashlib.file_digest(stream, lambda: _hash(kind))
        if digest.hexdigest() == wanted:
            return True
    headers = {"User-Agent": "Trainwright"} | ({"Range": f"bytes={done}-"} if done else {})
    try:
        answer = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and done:
            return False  # there is more of it here than there
        raise
    shown = 0.0
    with answer:
        if done and not (answer.headers.get("Content-Range") or "").startswith(f"bytes {done}-"):
            digest, done = _hash(kind), 0  # this place begins again
        rest = int(answer.headers.get("Content-Length") or 0)
        whole = done + rest if rest else 0
        require_room(part.parent.parent, rest, remote.name)
        with part.open("ab" if done else "wb") as stream:
            while chunk := answer.read(_CHUNK):
                done += len(chunk)
                if done > _MOST:
                    return False
                stream.write(chunk)
                digest.update(chunk)
                if time.monotonic() - shown > 0.2:
                    shown = time.monotonic()
                    of = f" of {in_words(whole)}" if whole else ""
                    report_progress(f"downloading {remote.name}: {in_words(done)}{of}", done / whole if whole else None)
    if done < whole:
        raise ConnectionError(f"it broke off after {in_words(done)} of {in_words(whole)}")
    return digest.hexdigest() == wanted


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _hash(kind: str) -> hashlib._Hash:
    # MD5 where makers publish nothing better: it tells a damaged file from a whole one.
    return hashlib.new(kind, usedforsecurity=False)
