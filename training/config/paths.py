"""Settings that name files and folders: which they are, what is relative, what is not there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from training.config.fields import Section
from training.errors import Problem
from training.reading import visible

if TYPE_CHECKING:
    from training.config.run import RunConfig

READ = ("dataset", "model", "objective")
"""Sections whose paths are read; what others name is made by the run."""

_INSTEAD = {"objective.teacher": "the folder of a run or of one of its checkpoints, or a Python file"}


def path_settings(section: type[Section]) -> dict[str, str]:
    """The settings of ``section`` that are paths, with what they must be: file, folder or any."""
    extras = {name: info.json_schema_extra for name, info in section.model_fields.items()}
    return {name: str(extra["path"]) for name, extra in extras.items() if isinstance(extra, dict) and "path" in extra}


def path_problems(config: RunConfig) -> list[Problem]:
    """Paths in the configuration that do not exist or are of the wrong sort."""
    found: list[Problem] = []
    for key in READ:
        section = getattr(config, key)
        for name, wanted in path_settings(type(section)).items():
            text = getattr(section, name)
            instead = _INSTEAD.get(f"{key}.{name}", "")
            problem = missing_path(Path(text), wanted, instead=instead) if text is not None else None
            if problem:
                found.append(Problem(f"{key}.{name}", problem))
    return found


def missing_path(path: Path, wanted: str, may_be_missing: bool = False, instead: str = "") -> str | None:
    """What is wrong with ``path`` as a "file", "folder" or "any" of both, as a sentence; None when nothing is. ``instead``
    says what to choose where nothing lies there."""
    shown = visible(str(path), 300)
    if shown != str(path) or not path.is_absolute():  # a bare name would be taken for a word of the sentence
        shown = f"'{shown}'"
    try:
        if not path.exists():
            if may_be_missing:
                return None
            another = f"another {'file or folder' if wanted == 'any' else wanted}"
            return f"{shown} does not exist; check the spelling or choose {instead or another}."
        if wanted == "folder" and not path.is_dir():
            return f"{shown} is a file; choose the folder that holds it."
        if wanted == "file" and not path.is_file():
            return f"{shown} is a folder; choose a file."
    except (OSError, ValueError) as error:  # too long, no permission, a zero byte
        return f"this path cannot be opened ({getattr(error, 'strerror', None) or error}); choose another."
    return None


def with_absolute_paths(data: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """``data`` with relative paths taken from ``folder``, or from the working folder where only that has them."""
    result = dict(data)
    for key in READ:
        section = result.get(key)
        if isinstance(section, Mapping):
            names = _names_of_paths(key)
            result[key] = {
                name: _absolute(value, folder) if name in names and isinstance(value, str) and value else value
                for name, value in section.items()
            }
    return result


def with_changed_paths_absolute(data: Mapping[str, Any], before: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """``with_absolute_paths`` for the paths alone that are not as they were ``before``: the others may be those of another
    machine, or lead through links that have changed since."""
    result, absolute = dict(data), with_absolute_paths(data, folder)
    for key in READ:
        section, old = absolute.get(key), before.get(key)
        if isinstance(section, dict) and isinstance(old, Mapping):
            given: Mapping[str, Any] = data[key]
            result[key] = {
                name: given[name] if given[name] == old.get(name) else value for name, value in section.items()
            }
    return result


def with_own_folder(data: Mapping[str, Any]) -> dict[str, Any]:
    """``data`` as it is told to a process with another working folder: relative paths lead from the one here, absolute ones
    stay as they are written."""
    result = dict(data)
    for key in (*READ, "loader"):
        section = result.get(key)
        if isinstance(section, Mapping):
            names = _names_of_paths(key)
            result[key] = {name: _of_this_folder(value) if name in names else value for name, value in section.items()}
    return result


def _of_this_folder(value: Any) -> Any:
    if not isinstance(value, str) or not value or value.startswith("~") or Path(value).is_absolute():
        return value
    try:
        return str(Path(value).absolute())
    except OSError:  # the folder is gone: the check that follows explains it
        return value


def _names_of_paths(key: str) -> set[str]:
    from training.config.problems import alternatives  # which needs the whole configuration's form

    return {name for cls in _sections(alternatives(key)) for name in path_settings(cls)}


def _sections(classes: Mapping[str, type]) -> Iterator[type[Section]]:
    return (cls for cls in classes.values() if issubclass(cls, Section))


def _absolute(text: str, folder: Path) -> str:
    try:
        given = Path(text).expanduser()
        beside_file, in_working_folder = folder / given, Path.cwd() / given
        chosen = in_working_folder if not beside_file.exists() and in_working_folder.exists() else beside_file
        return str(chosen.resolve())
    except (OSError, ValueError, RuntimeError):  # RuntimeError: "~name" of a person this machine does not know
        return text  # an impossible path: the check that follows explains it
