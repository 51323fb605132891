"""Where a person's runs are sent: files of the person's own, which no run and no result depends on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from training.errors import InputError
from training.system.atomic import write_text
from training.system.places import settings_folder
from training.toml_text import Toml, read_config_text, read_toml

Settings = TypeVar("Settings", bound=BaseModel)


def personal_file(name: str) -> Path:
    """Its place in the person's own configuration folder."""
    return settings_folder() / name


def load_settings(kind: type[Settings], path: Path) -> Settings:
    """What the file ``path`` says, the defaults where there is none. Raises InputError naming the entry that is wrong."""
    return parse_settings(kind, read_toml(read_config_text(path), str(path)), str(path)) if path.exists() else kind()


@contextmanager
def edit_settings(path: Path) -> Iterator[MutableMapping[str, Any]]:
    """What the file ``path`` says, to be changed; written at the end, with its comments. Raises InputError where it cannot be read or
    written."""
    import tomlkit  # only writers pay for it

    try:
        document = tomlkit.parse(read_config_text(path)) if path.exists() else tomlkit.document()
    except ValueError as error:
        raise InputError(f"{path}: not valid TOML: {error}; correct the file, or delete it.") from error
    yield document
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, tomlkit.dumps(document))
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error}); make it writable.") from error


def parse_settings(kind: type[Settings], data: Mapping[str, Toml], source: str = "") -> Settings:
    """``data`` as settings; raises InputError naming ``source`` and the entry that is wrong."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        words = first["msg"].removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            table: Any = kind
            for name in first["loc"][:-1]:
                table = table.model_fields[name].annotation
            words = f"is not known; there are {', '.join(table.model_fields)}"
        raise InputError(f"{source}{': ' if source else ''}{place}: {words}; correct it.") from error
