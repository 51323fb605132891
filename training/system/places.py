"""Where the program keeps what is the person's: in the folders that the system has for that, or all in one folder (portable mode).

Portable is the installed program with a folder ``trainwright-data`` beside it, or any program with ``$TRAINWRIGHT_PORTABLE``, the
path of a folder. Then nothing of ours lies elsewhere, and what libraries keep on their own goes there, too.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from training.system.untrusted import escape_unprintable

if TYPE_CHECKING:
    from platformdirs import PlatformDirs

_NAME: Final = "Trainwright"
VARIABLE: Final = "TRAINWRIGHT_PORTABLE"
BESIDE: Final = "trainwright-data"
_OF_LIBRARIES: Final = {
    "TORCH_HOME": "torch",
    "TRITON_CACHE_DIR": "triton",
    "PIP_CACHE_DIR": "pip",
    "UV_CACHE_DIR": "uv",
    "MPLCONFIGDIR": "matplotlib",
    "XDG_CACHE_HOME": "other",
}
"""By variables that they look at: where they keep what they could get or make again."""


def settings_folder() -> Path:
    """Preferences, and where runs are sent."""
    return _find("settings") or _of_system().user_config_path


def data_folder() -> Path:
    """Engines, data sets that were fetched, files that a person agreed to run, which windows are open."""
    return _find("data") or _of_system().user_data_path


def cache_folder() -> Path:
    """What can be made again."""
    return _find("cache") or _of_system().user_cache_path


def logs_folder() -> Path:
    """Logs and crash reports."""
    return _find("logs") or _of_system().user_log_path


def usual_workspace() -> Path:
    """Where runs live unless somebody says otherwise."""
    return _find("workspace") or _of_system().user_documents_path / _NAME


def portable_folder() -> Path | None:
    """The one folder of portable mode; None where the system's are used."""
    given = os.environ.get(VARIABLE)
    return Path(os.path.abspath(given)) if given else None  # noqa: PTH100 - as it was typed, links left alone


def become_portable(environ: MutableMapping[str, str] = os.environ) -> None:
    """To be called before anything is kept: takes the folder beside the installed program, where there is one, for this process and
    those that it starts.

    Raises FileNotFoundError, a sentence in it, where the variable names a folder that is not there: a misspelled one would be made.
    """
    if not environ.get(VARIABLE) and (beside := _find_beside()) is not None:
        environ[VARIABLE] = str(beside)
    given = environ.get(VARIABLE)
    if not given:
        return
    environ[VARIABLE] = os.path.abspath(given)  # noqa: PTH100 - as above; children may work in another folder
    if not os.path.isdir(given):  # noqa: PTH112 - which has no error where nobody may look
        where = escape_unprintable(environ[VARIABLE], 300)
        raise FileNotFoundError(
            errno.ENOENT, f"{VARIABLE}: there is no folder {where}; put its path right, or make it."
        )
    for variable, name in _OF_LIBRARIES.items():
        environ.setdefault(variable, str(Path(environ[VARIABLE]) / "cache" / name))


def _of_system() -> PlatformDirs:
    from platformdirs import PlatformDirs  # an export is verified where this is not installed

    return PlatformDirs(_NAME, appauthor=False)


def _find(name: str) -> Path | None:
    folder = portable_folder()
    return None if folder is None else folder / name


def _find_beside() -> Path | None:
    if not getattr(sys, "frozen", False):
        return None
    program = Path(sys.executable).resolve()
    # Beside the program, the start script of a folder that runs from anywhere, or the bundle of macOS.
    places = [program.parent]
    places += [up for up in program.parents if (up / "AppRun").is_file()]
    places += [up.parent for up in program.parents if up.suffix == ".app"]
    found = (place / BESIDE for place in places)
    return next((folder for folder in found if folder.is_dir() and os.access(folder, os.W_OK)), None)
