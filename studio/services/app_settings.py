"""Preferences of the program (not of a run): one JSON file in the person's configuration folder. No Qt here, because
the engine's interpreter must be known before Qt is loaded."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from studio.identity import VERSION
from training.system.interpreter import own_interpreter
from training.system.newer import is_newer
from training.system.places import settings_folder

logger = logging.getLogger(__name__)

THEMES = ("system", "light", "dark")
TEXT_SIZES = (90, 100, 110, 125, 150)
_VERSION = "version"  # of the newest Trainwright that wrote the settings
RAILS = ("auto", "open", "folded")  # the words beside the icons of the areas: where there is room, always, never


class AppSettings(NamedTuple):
    """What the program remembers. ``engine_python`` is empty for the interpreter the window runs on."""

    theme: str = "system"
    high_contrast: bool = False  # even where the system was not asked for it
    page: str = "setup"
    rail: str = "auto"
    code_beside: bool = True  # the run as code stands beside the forms of a window that has room for three columns
    text_size: int = 100  # percent of the designed size
    geometry: str = ""  # QWidget.saveGeometry() in base64
    maximized: bool = False  # which is said there, too, and not told of a screen of another width
    splits: str = ""  # how pages were divided by their handles, a line each
    engine_python: str = ""
    engine_index: str = ""  # where engines are installed from: a package index, a proxy, a folder of wheels
    engine_proxy: str = ""
    engine_wheels: str = ""
    update_check: bool = False  # once a day a package index is asked whether there is a newer version
    update_asked: float = 0.0  # when it was, in seconds since 1970
    update_found: str = ""  # the newer version that it told
    update_left_alone: str = ""  # the one of which the notice was put away
    newer_left_alone: str = ""  # the version of which the notice that it wrote the settings was put away
    gpu_left_alone: bool = False  # the notice that a GPU is not used was put away
    engine_in_process: bool = False
    device: str = "auto"  # that a new configuration begins with
    processes: int = 1  # in how many the next run is trained
    keep_awake: bool = True
    notify: bool = True  # by the desktop, when something ends while the window is not looked at
    tray: bool = False  # an icon there, and a closed window stays in it
    keep_training: bool = True  # in the background, when the window ends unexpectedly
    workspace: str = ""
    workspace_target: str = ""  # where it is being moved to, by a rename that may be done already
    smoothing: float = 0.0
    log_scale: bool = False
    data_tile: int = 96  # of the images on the Data page, in pixels
    export_folder: str = ""  # where the last export went, other than into its run's folder
    run_columns: str = (
        "-Size"  # of the list of runs, a name a line: settings and metrics; "-Size" is one that is not shown
    )
    run_filters: str = ""  # filters of runs that were kept, one a line
    run_groups: str = ""  # how runs are grouped: "repeats", or names of settings, one a line
    recent_files: str = ""  # configurations that were opened or saved, the newest first, a line each
    recent: str = ""  # what was chosen in the command palette, the newest first, a line each
    left_alone: str = ""  # the interrupted run whose notice the person put away
    attended: str = ""  # the run that a window shows while it is trained
    study_at_work: str = ""  # the study that a window works on, or that its end stopped
    sweep_at_work: str = ""  # likewise a sweep
    closed: float = 0.0  # when that window was closed, in seconds since 1970; 0: it is not known to be

    @property
    def interpreter(self) -> str:
        """The Python that the next engine works on: the chosen one, or our own; "" where there is none."""
        return self.engine_python or own_interpreter()


def settings_file() -> Path:
    """Where the preferences are kept."""
    return settings_folder() / "settings.json"


def draft_file() -> Path:
    """Where the forms' content is kept between two starts."""
    return settings_folder() / "draft.json"


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in ``path``; empty when it is missing, or (logged) damaged."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        logger.warning("%s could not be read and is ignored: %s", path, error)
        return {}
    return data if isinstance(data, dict) else {}


def write_object(path: Path, data: Mapping[str, Any]) -> None:
    """Replace ``path``; a place that cannot be written is logged, because no work hangs on it."""
    from training.system.atomic import write_text  # settings are read before the first paint, and written after it

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(dict(data), indent=1) + "\n")
    except OSError as error:
        logger.warning("%s could not be written: %s", path, error)


def find_newer_version(path: Path) -> str:
    """The version of Trainwright that wrote the settings in ``path``, where it is newer than this one; else ""."""
    return _newer_version(read_object(path))


def _newer_version(data: Mapping[str, Any]) -> str:
    written = data.get(_VERSION)
    return str(written) if is_newer(written) else ""


def load_settings(path: Path) -> AppSettings:
    """The settings in ``path``; a key of another version or of the wrong type falls back to its default."""
    data = read_object(path)
    known: dict[str, Any] = {}
    for name, default in AppSettings()._asdict().items():
        value = data.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and isinstance(default, float):
            value = float(value)
        if type(value) is type(default):
            known[name] = value
    return AppSettings(**known)


def save_settings(path: Path, settings: AppSettings) -> None:
    """Write ``settings`` to ``path``. What another version keeps there, under names that this one does not know, stays; so does its
    number, where it is the newer one."""
    known, kept = settings._asdict(), read_object(path)
    others = {key: value for key, value in kept.items() if key not in (*known, _VERSION)}
    write_object(path, {_VERSION: _newer_version(kept) or VERSION, **known, **others})
