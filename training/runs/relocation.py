"""Where a run works on this machine, when that is not where it began.

``config.toml`` says what ran and is never edited. A run that was moved or copied finds its data elsewhere and computes on
another device: what was said to that with ``--set`` is kept in ``places.json``, under the machine's name, so that a run
that goes back and forth is told once on each machine.
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath

from pydantic import JsonValue

from training.config import RunConfig, apply_overrides, parse_config
from training.config.files import config_data
from training.config.paths import with_changed_paths_absolute
from training.config.sections.data.own_data import OwnDataSection
from training.config.sections.objective import OwnLoss
from training.errors import ConfigError
from training.runs.folder import RunFolder, read_json
from training.runs.storage import explain_disk_errors
from training.system.atomic import write_text
from training.toml_text import Toml, read_table

PLACES = "places.json"
DATA, DEVICE, THREADS = "dataset.path", "precision.device", "precision.threads"
VALIDATION, TEST = "dataset.validation_path", "dataset.test_path"
KEPT = (DATA, VALIDATION, TEST, "dataset.images", "dataset.class_list", DEVICE, THREADS)
"""Settings that say where a run works, not what it computes."""
MOVED = ("objective.teacher", "objective.teacher_weights", "model.weights")
"""Settings that name what a workspace may hold: where it was moved with all that is in it, they name the same as before."""
OWN: tuple[str, ...] = ("model.",)
"""A run's folder holds all of the network that goes on: weights, and the code of a person's own file."""
OWN_DATASET = ("dataset.path", "dataset.trusted", "dataset.arguments")
OWN_LOSS = ("objective.path", "objective.trusted", "objective.arguments")
"""And the code of a person's own Dataset, and loss."""


def remember(folder: RunFolder, settings: Mapping[str, JsonValue]) -> None:
    """Keep ``settings`` (dotted, of ``KEPT``; None for "as the program chooses") for later attempts on this machine."""
    if not settings:
        return
    known = _read_places(folder)
    known[socket.gethostname()] = {**known.get(socket.gethostname(), {}), **settings}
    with explain_disk_errors(folder.path / PLACES):
        write_text(folder.path / PLACES, json.dumps(known, indent=1) + "\n")


def config_here(folder: RunFolder) -> RunConfig:
    """The run's configuration with what was said on this machine, and with the first place where its data is.

    Raises InputError when the configuration cannot be read; that no place has data is for the caller to say.
    """
    config = folder.config()
    known = _read_places(folder)
    here = dict(known.get(socket.gethostname(), {}))
    for setting in (VALIDATION, TEST):
        own, said = getattr(config.dataset, setting.partition(".")[2], None), here.get(setting)
        if own and isinstance(said, str) and not os.path.exists(said) and os.path.exists(own):  # noqa: PTH110 - as below
            del here[setting]  # put back where it was
    path = getattr(config.dataset, "path", None)
    if path is not None:
        elsewhere = (said.get(DATA) for said in known.values())  # in a cluster the same place has many machines
        candidates = [here.get(DATA), path, *elsewhere, *_beside(folder, path)]
        here[DATA] = next((item for item in candidates if isinstance(item, str) and os.path.exists(item)), path)  # noqa: PTH110 - False where nobody may look
    return _change(config, here)


def config_wanted(folder: RunFolder, overrides: Sequence[str]) -> RunConfig:
    """The run's configuration here with ``overrides`` ("section.key=value"), whose relative paths are of the working folder. Raises InputError."""
    before = config_here(folder)
    data: dict[str, Toml] = dict(config_data(before))
    apply_overrides(data, overrides)
    return parse_config(with_changed_paths_absolute(data, config_data(before), Path.cwd()), "--set", paths=False)


def with_moved(folder: RunFolder, config: RunConfig) -> RunConfig:
    """``config``, which a checkpoint of the run keeps, with what was moved called as ``config_here`` calls it."""
    here = _read_places(folder).get(socket.gethostname(), {})
    moved = {key: value for key, value in here.items() if key in MOVED}
    return _change(config, moved) if moved else config


def config_told(folder: RunFolder) -> RunConfig:
    """The run's configuration as it was told, with what was moved. Raises InputError."""
    return with_moved(folder, folder.config())


def require_places(folder: RunFolder, config: RunConfig) -> None:
    """Raise ConfigError for what ``config`` names that is not there, unless the run has a copy of it."""
    try:
        parse_config(config_data(config), folder.id)
    except ConfigError as error:
        copied = OWN + (OWN_DATASET if isinstance(config.dataset, OwnDataSection) else ())
        copied += OWN_LOSS if isinstance(config.objective, OwnLoss) else ()
        copied += ("dataset.exclude",) if folder.exclude_file.is_file() else ()
        problems = [problem for problem in error.problems if not problem.path.startswith(copied)]
        if problems:
            raise ConfigError(problems, folder.id) from error


def _read_places(folder: RunFolder) -> dict[str, dict[str, JsonValue]]:
    """The settings of ``KEPT`` and ``MOVED`` that were said on each machine; what others wrote beside them is passed over."""
    return {
        machine: {key: value for key, value in settings.items() if key in (*KEPT, *MOVED)}
        for machine, settings in read_json(folder.path / PLACES).items()
        if isinstance(settings, dict)
    }


def _change(config: RunConfig, settings: Mapping[str, JsonValue]) -> RunConfig:
    data: dict[str, Toml] = dict(config_data(config))
    for key, value in settings.items():
        section, _, name = key.partition(".")
        data[section] = read_table(data, section) | {name: "" if value is None else value}
    return parse_config(data, paths=False)


def _beside(folder: RunFolder, path: str) -> Iterator[str]:
    """The place that lies to the run folder as the old one lay to the old run folder: both were moved together."""
    data, run = _pure(path), _pure(folder.read_status().folder)
    if type(data) is not type(run):
        return
    for up, parent in enumerate(run.parents):
        if parent in data.parents and len(parent.parts) > 1:  # sharing no more than the root is no relation
            yield str(folder.path.parents[up].joinpath(*data.relative_to(parent).parts))
            return


def _pure(path: str) -> PurePath:
    """``path`` as the system it comes from reads it."""
    windows = re.match(r"^([A-Za-z]:[\\/]|\\\\)", path) is not None
    return PureWindowsPath(path) if windows else PurePosixPath(path)
