"""What is said when a run's folder cannot be written any more, and room kept for saying it."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from training.errors import TrainingError

RESERVE_FILE = ".reserve"
_RESERVE_BYTES = 64 << 10
_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}


@contextmanager
def explain_disk_errors(path: Path) -> Iterator[None]:
    """Around the writing of a run's file: an OSError inside is raised as a TrainingError that names the folder."""
    try:
        yield
    except OSError as error:
        raise storage_error(error, path) from error


def storage_error(error: BaseException, path: Path) -> TrainingError:
    """The sentence for ``error``, met while ``path`` in (or below) a run's folder was written."""
    number, why = getattr(error, "errno", None), getattr(error, "strerror", None) or str(error)
    kept = "then resume; what was saved as a checkpoint is kept."
    if is_gone(path.parent):
        return folder_gone(path.parent)
    if number == errno.ENOENT:  # one file of it, or the first of all that are just being deleted
        return TrainingError(
            f"{path} is gone: it was deleted or moved while the run was working.",
            "Leave a run's files in place and resume.",
        )
    if number in _FULL or "No space left" in why:
        return TrainingError(f"The disk of {path.parent} is full ({why}).", f"Free some space, {kept}")
    if number == errno.EFBIG:
        return TrainingError(
            f"{path} may not grow any further ({why}).",
            f"Raise the limit on the size of files or free some space, {kept}",
        )
    return TrainingError(f"{path} cannot be written ({why}).", f"Make the folder writable or repair its disk, {kept}")


def is_gone(folder: Path) -> bool:
    """Whether a run's folder was taken away, or is just being deleted: its configuration is written once and stays."""
    return not (folder / "config.toml").is_file()


def folder_gone(folder: Path) -> TrainingError:
    """What is said when a run's folder disappears under its feet."""
    return TrainingError(
        f"The folder {folder} is gone: it was deleted or moved, or its drive was disconnected, while the run was working.",
        "Put it back and resume, or start the run again.",
    )


def keep_reserve(folder: Path) -> None:
    """Take the room that the last words of a run need, for the case that the disk is full by then."""
    with suppress(OSError), (folder / RESERVE_FILE).open("wb") as stream:
        stream.write(bytes(_RESERVE_BYTES))


def free_reserve(folder: Path) -> None:
    """Give that room back."""
    with suppress(OSError):
        (folder / RESERVE_FILE).unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Delete the parts of files that a killed process of an earlier attempt left in ``folder``."""
    for path in folder.glob(".*.tmp"):
        with suppress(OSError):
            path.unlink()
