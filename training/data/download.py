"""Files fetched from the internet, whole and checked, or not at all."""

from __future__ import annotations

import hashlib
import http.client
import shutil
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path

from training.data.placement import in_words
from training.data.source import ReportProgress
from training.errors import InputError

_TIMEOUT = 30.0  # seconds without a byte
_CHUNK = 1 << 20
_MOST = 16 * 10**9  # bytes: no file that is fetched here is nearly as large
_FAULTS = (urllib.error.URLError, http.client.HTTPException, OSError)


@dataclass(frozen=True)
class Remote:
    """A file and where it is to be had; ``digest`` is "sha256:..." or "md5:...", as its makers publish it."""

    name: str
    urls: tuple[str, ...]
    digest: str


def is_whole(path: Path, remote: Remote) -> bool:
    """Whether the file at ``path`` is what its makers published. Raises OSError."""
    kind, _, wanted = remote.digest.partition(":")
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: _hash(kind)).hexdigest() == wanted


def download(remote: Remote, folder: Path, report_progress: ReportProgress) -> Path:
    """Fetch a file into ``folder``, from the first place that has it. Raises InputError in one sentence; nothing is left
    half done."""
    reasons = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".download-", dir=folder) as place:
            for url in remote.urls:
                part = Path(place) / "part"
                try:
                    whole = _fetch(url, part, remote, report_progress)
                except _FAULTS as error:
                    reasons.append(f"{url}: {getattr(error, 'reason', None) or error}")
                    continue
                if not whole:
                    reasons.append(f"{url} gives another file than it should")
                    continue
                return part.replace(folder / remote.name)
    except OSError as error:
        reasons.append(f"{folder}: {error.strerror or error}")
    raise InputError(
        f"{remote.name} is not in {folder} and cannot be downloaded ({reasons[-1] if reasons else 'no place has it'}).",
        f"Connect to the internet, or get {' or '.join(remote.urls)} elsewhere and put it there.",
    )


def unpack(archive: Path, folder: Path, report_progress: ReportProgress) -> None:
    """Unpack an archive into ``folder``: ordinary files below it, nothing else. Raises InputError."""
    report_progress(f"unpacking {archive.name}", None)
    try:
        with tempfile.TemporaryDirectory(prefix=".unpack-", dir=folder) as place:
            if zipfile.is_zipfile(archive):
                with zipfile.ZipFile(archive) as packed:
                    packed.extractall(place)  # zipfile leads no name out of the folder
            else:
                with tarfile.open(archive) as bundle:
                    _extract(bundle, Path(place))
            for found in Path(place).iterdir():
                target = folder / found.name
                if target.is_dir():
                    shutil.rmtree(target)  # what a former attempt left unfinished
                found.replace(target)
    except (OSError, tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise InputError(f"{archive} cannot be unpacked ({error}).", "Delete it, and start again.") from error


def _extract(bundle: tarfile.TarFile, place: Path) -> None:
    """Folders and ordinary files below ``place``. Not by tarfile's ``filter``, which Pythons before 3.11.4 do not have."""
    for member in bundle:
        target = (place / member.name).resolve()
        if not target.is_relative_to(place.resolve()) or not (member.isfile() or member.isdir()):
            raise tarfile.TarError(f"{member.name!r} is no ordinary file below the folder")
        if member.isdir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        content = bundle.extractfile(member)
        assert content is not None, "an ordinary file has content"
        with content, target.open("wb") as stream:
            shutil.copyfileobj(content, stream)


def _fetch(url: str, target: Path, remote: Remote, report_progress: ReportProgress) -> bool:
    """Write what ``url`` gives; whether it is the file that was asked for."""
    kind, _, wanted = remote.digest.partition(":")
    digest = _hash(kind)
    request = urllib.request.Request(url, headers={"User-Agent": "Trainwright"})
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer, target.open("wb") as stream:
        length = int(answer.headers.get("Content-Length") or 0)
        done, shown = 0, 0.0
        while chunk := answer.read(_CHUNK):
            done += len(chunk)
            if done > _MOST:
                return False
            stream.write(chunk)
            digest.update(chunk)
            if time.monotonic() - shown > 0.2:
                shown = time.monotonic()
                of = f" of {in_words(length)}" if length else ""
                report_progress(f"downloading {remote.name}: {in_words(done)}{of}", done / length if length else None)
    return digest.hexdigest() == wanted


def _hash(kind: str) -> hashlib._Hash:
    # MD5 where makers publish nothing better: it tells a damaged file from a whole one.
    return hashlib.new(kind, usedforsecurity=False)
