"""The files of a set: fetched whole and checked, or not at all, and unpacked: ordinary files below the folder, nothing else."""

from __future__ import annotations

import errno
import hashlib
import shutil
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath

from filelock import FileLock, Timeout

from training.data.source import ReportProgress, throttle
from training.downloads import explain, fetch
from training.errors import InputError, format_bytes

MAKE_ROOM = "Make room, or choose a folder on another drive."


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
    # MD5 where makers publish nothing better: it tells a damaged file from a whole one.
    kind, _, wanted = remote.digest.partition(":")
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, kind).hexdigest() == wanted


def download(remote: Remote, folder: Path, report_progress: ReportProgress, later: Sequence[str] = ()) -> Path:
    """Fetch a file into ``folder``, from the first place that has it. Raises InputError in one sentence, which names those to
    be fetched ``later``, too."""
    reasons: list[str] = []
    require = partial(require_room, folder, what=remote.name)
    try:
        busy = f"{remote.name} is being downloaded into {folder}"
        with temporary_folder(folder, f".download-{remote.name}", busy) as place:
            for url in remote.urls:
                try:
                    fetch(url, place / remote.name, remote.name, report_progress, remote.digest, require)
                    return (place / remote.name).replace(folder / remote.name)
                except OSError as error:
                    if error.errno == errno.ENOSPC:
                        raise
                    reasons.append(f"{url}: {explain(error)}")
                except ValueError:
                    reasons.append(f"{url} gives another file than it should")
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
            f"{what} takes {format_bytes(size)}, but there is room for {format_bytes(free)} only on the drive of {folder}.",
            MAKE_ROOM,
        )


@contextmanager
def temporary_folder(folder: Path, name: str, busy: str) -> Iterator[Path]:
    """An empty folder inside the hidden folder ``name`` in ``folder``, for one process at a time; what a killed one left there
    goes. Raises InputError, in which ``busy`` says what another process is doing there, and OSError."""
    hidden = folder / name
    place = hidden / "made"
    hidden.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(hidden / "lock", timeout=0):
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            try:
                yield place
            finally:  # on Windows no file goes that somebody has opened, as the lock is
                shutil.rmtree(place if sys.platform == "win32" else hidden, ignore_errors=True)
    except Timeout as error:
        raise InputError(f"{busy} by another run.", "Wait for it, then start again.") from error
    with suppress(OSError):
        hidden.rmdir()


def unpack(archive: Path, folder: Path, report_progress: ReportProgress, last: str = "") -> None:
    """Unpack into ``folder``, beside what lies there; ``last``, a path below it, is put there once all the rest is. Raises
    InputError, also for an archive without ``last``."""
    report_progress(f"unpacking {archive.name}", None)
    try:
        busy = f"{archive.name} is being unpacked"
        with temporary_folder(folder, f".unpack-{archive.name}", busy) as place:
            (_unzip if zipfile.is_zipfile(archive) else _untar)(archive, place, throttle(report_progress))
            if last and not (place / last).exists():
                raise tarfile.TarError(f"there is no {last} in it")
            _move_into(place, folder, PurePath(last))
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise InputError(f"{archive.name} does not fit on the drive of {folder}, unpacked.", MAKE_ROOM) from error
        advice = "Delete it, and start again." if error.errno is None else "Look whether files can be written there."
        raise InputError(f"{archive} cannot be unpacked ({error.strerror or error}).", advice) from error
    except (zlib.error, tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise InputError(f"{archive} cannot be unpacked ({error}).", "Delete it, and start again.") from error


def _unzip(archive: Path, place: Path, report_progress: ReportProgress) -> None:
    with zipfile.ZipFile(archive) as packed:
        members = packed.infolist()
        for number, member in enumerate(members):
            if not member.filename.startswith("__MACOSX/"):
                packed.extract(member, place)  # zipfile leads no name out of the folder
            report_progress(f"unpacking {archive.name}", number / len(members))


def _untar(archive: Path, place: Path, report_progress: ReportProgress) -> None:
    """Folders and ordinary files; links and devices, which no set needs, are left out. Not by tarfile's ``filter``, which
    Pythons before 3.11.4 do not have."""
    size = archive.stat().st_size
    with archive.open("rb") as stream, tarfile.open(fileobj=stream) as bundle:
        for member in bundle:
            target = (place / member.name).resolve()
            if not target.is_relative_to(place.resolve()):
                raise tarfile.TarError(f"{member.name!r} leads out of the folder")
            if member.isdir():
                target.mkdir(parents=True, exist_ok=True)
            elif member.isfile():
                target.parent.mkdir(parents=True, exist_ok=True)
                content = bundle.extractfile(member)
                assert content is not None, "an ordinary file has content"
                with content, target.open("wb") as written:
                    shutil.copyfileobj(content, written)
            report_progress(f"unpacking {archive.name}", min(1.0, stream.tell() / size))


def _move_into(place: Path, folder: Path, last: PurePath) -> None:
    """Move all that lies in ``place``; what leads to ``last``, relative to both, goes after the rest."""
    way = last.parts[:1]
    for found in sorted(place.iterdir(), key=lambda path: ((path.name,) == way, path.name)):
        target = folder / found.name
        if found.is_dir() and target.is_dir():  # of another archive of the set, or of a former attempt
            _move_into(found, target, PurePath(*last.parts[1:]) if (found.name,) == way else PurePath())
        else:
            found.replace(target)
