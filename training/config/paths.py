"""Settings that name files and folders: which they are, what is relative, what is not there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import JsonValue

from training.config.describe import describe
from training.config.fields import Section
from training.config.run import RunConfig, alternatives
from training.errors import Problem
from training.system.untrusted import escape_unprintable
from training.toml_text import Toml, read_table

READ = ("dataset", "model", "objective")
"""Sections whose paths are read; what others name is made by the run."""

_Value = TypeVar("_Value", Toml, JsonValue)

_INSTEAD = {"objective.teacher": "the folder of a run or of one of its checkpoints, or a Python file"}


def path_settings(section: type[Section]) -> dict[str, str]:
    """The settings of ``section`` that are paths, with what they must be: file, folder or any."""
    return {spec.name: spec.path for spec in describe(section) if spec.path}


def path_problems(config: RunConfig) -> Iterator[Problem]:
    """Paths in the configuration that do not exist or are of the wrong sort."""
    for key in (*READ, "loader"):
        section = getattr(config, key)
        for name, wanted in path_settings(type(section)).items():
            text, path = getattr(section, name), f"{key}.{name}"
            made = key == "loader"  # by the run
            problem = text and missing_path(Path(text), wanted, may_be_missing=made, instead=_INSTEAD.get(path, ""))
            if problem:
                yield Problem(path, problem)


def missing_path(path: Path, wanted: str, may_be_missing: bool = False, instead: str = "") -> str | None:
    """What is wrong with ``path`` as a "file", "folder" or "any" of both, as a sentence; None when nothing is. ``instead``
    says what to choose where nothing lies there."""
    shown = escape_unprintable(str(path), 300)
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


def with_absolute_paths(data: Mapping[str, Toml], folder: Path) -> dict[str, Toml]:
    """``data`` with relative paths taken from ``folder``, or from the working folder where only that has them."""
    return _change_paths(data, READ, lambda _path, text: _absolute(text, folder))


def with_changed_paths_absolute(data: Mapping[str, Toml], before: Mapping[str, Toml], folder: Path) -> dict[str, Toml]:
    """``with_absolute_paths`` for the paths alone that are not as they were ``before``: the others may be those of another
    machine, or lead through links that have changed since."""
    old = {f"{key}.{name}": value for key in READ for name, value in read_table(before, key).items()}
    return _change_paths(data, READ, lambda path, text: text if text == old.get(path) else _absolute(text, folder))


def with_own_folder(data: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """``data`` as it is told to a process with another working folder: relative paths lead from the one here, absolute ones
    stay as they are written."""
    return _change_paths(data, (*READ, "loader"), lambda _path, text: _of_this_folder(text))


def _change_paths(
    data: Mapping[str, _Value], sections: Sequence[str], change: Callable[[str, str], str]
) -> dict[str, _Value]:
    """``data`` with each path of ``sections`` as ``change(setting, text)`` makes it."""
    result = dict(data)
    for key in sections:
        section = data.get(key)
        if isinstance(section, Mapping):
            names = {name for cls in alternatives(key).values() for name in path_settings(cls)}
            result[key] = {
                name: change(f"{key}.{name}", value) if name in names and isinstance(value, str) and value else value
                for name, value in section.items()
            }
    return result


def _of_this_folder(text: str) -> str:
    if text.startswith("~") or Path(text).is_absolute():
        return text
    try:
        return str(Path(text).absolute())
    except OSError:  # the folder is gone: the check that follows explains it
        return text


def _absolute(text: str, folder: Path) -> str:
    try:
        given = Path(text).expanduser()
        beside_file, in_working_folder = folder / given, Path.cwd() / given
        chosen = in_working_folder if not beside_file.exists() and in_working_folder.exists() else beside_file
        return str(chosen.resolve())
    except (OSError, ValueError, RuntimeError):  # RuntimeError: "~name" of a person this machine does not know
        return text  # an impossible path: the check that follows explains it
