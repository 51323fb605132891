"""Archives unpacked into a folder: ordinary files below it, nothing else, and what tells that all is there comes last."""

from __future__ import annotations

import errno
import shutil
import tarfile
import time
import zipfile
import zlib
from pathlib import Path, PurePath

from training.data.download import MAKE_ROOM
from training.data.source import ReportProgress
from training.data.workplace import workplace
from training.errors import InputError

_SHOWN_EVERY = 0.2  # seconds


def unpack(archive: Path, folder: Path, report_progress: ReportProgress, last: str = "") -> None:
    """Unpack into ``folder``, beside what lies there; ``last``, a path below it, is put there once all the rest is. Raises
    InputError, also for an archive without ``last``."""
    report_progress(f"unpacking {archive.name}", None)
    try:
        busy = f"{archive.name} is being unpacked"
        with workplace(folder, f".unpack-{archive.name}", busy, lambda _: False) as own:
            place = own / "made"
            if place.exists():  # by a process that was killed
                shutil.rmtree(place)
            place.mkdir()
            if zipfile.is_zipfile(archive):
                _unzip(archive, place, report_progress)
            else:
                _untar(archive, place, report_progress)
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
    shown = 0.0
    with zipfile.ZipFile(archive) as packed:
        members = packed.infolist()
        for number, member in enumerate(members):
            if not member.filename.startswith("__MACOSX/"):
                packed.extract(member, place)  # zipfile leads no name out of the folder
            if time.monotonic() - shown > _SHOWN_EVERY:
                shown = time.monotonic()
                report_progress(f"unpacking {archive.name}", number / len(members))


def _untar(archive: Path, place: Path, report_progress: ReportProgress) -> None:
    """Folders and ordinary files; links and devices, which no set needs, are left out. Not by tarfile's ``filter``, which
    Pythons before 3.11.4 do not have."""
    shown, size = 0.0, archive.stat().st_size
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
            if time.monotonic() - shown > _SHOWN_EVERY:
                shown = time.monotonic()
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
