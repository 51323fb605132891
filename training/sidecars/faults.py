"""Why a run does not get where it is sent, and the sentences for it."""

from __future__ import annotations

import errno
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from training.errors import InputError, TrainingError


class Away(TrainingError):
    """The far end cannot be reached now, or has a fault of its own: it is tried again later."""


class Refused(InputError):
    """The far end refuses what it is sent: a key, a name. Trying again would not help."""


class FolderFault(TrainingError):
    """The run's own folder cannot be written: nothing can be sent, for it could not be noted as sent."""


class ClientFault(Away):
    """An error of a client that nobody foresaw."""


def explain_missing(package: str, extra: str) -> Refused:
    """The sentence for a client that is not installed."""
    return Refused(f"{package} is not installed; pip install 'trainwright[{extra}]'")


@contextmanager
def explain_folder(place: Path, command: str) -> Iterator[None]:
    """Around what is written in ``place`` of a run's folder: an OSError inside is raised as a FolderFault. ``command`` is what sends the
    run later."""
    try:
        yield
    except OSError as error:
        again = f"python -m training {command} {shlex.quote(str(place.parent))}"
        raise FolderFault(
            f"{place} cannot be written ({error.strerror or error}), so the run is not sent any further.",
            f"Free some space or make it writable, then: {again}",
        ) from error


def explain_place(place: Path, error: OSError) -> TrainingError:
    """The sentence for a folder outside the run that cannot be written; a disk that is full may have room later."""
    why = (
        "a file is in the way"
        if isinstance(error, FileExistsError | NotADirectoryError)
        else error.strerror or str(error)
    )
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return Away(f"{place}: the disk takes no more ({why}); free some space.")
    return Refused(f"{place}: cannot be written ({why}); make it writable, or choose another folder.")


@contextmanager
def explain_client(name: str) -> Iterator[None]:
    """Around calls of the client of ``name``: whatever is raised inside that we did not foresee becomes a ClientFault."""
    try:
        yield
    except TrainingError:
        raise
    except Exception as error:
        words = f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
        raise ClientFault(f"{name}'s client failed unexpectedly ({words}).") from error
