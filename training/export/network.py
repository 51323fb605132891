"""The class of one of our own networks as a file that stands alone."""

from __future__ import annotations

import inspect
import sys
from typing import Any

from torch import nn

from training.errors import InputError
from training.export.definitions import Definitions

FILE = "network.py"


def constructor_of(model: nn.Module) -> dict[str, Any]:
    """What ``type(model)`` was called with, by name: our own networks keep each argument as an attribute of that name.

    Raises InputError for a network that does not, or whose arguments are no plain values.
    """
    names = [name for name in inspect.signature(type(model).__init__).parameters if name != "self"]
    arguments = {name: getattr(model, name, ...) for name in names}
    for name, value in arguments.items():
        if not _is_plain(value):
            raise InputError(
                f"model.kind: {type(model).__name__} cannot be built again from plain values ({name}); export another model."
            )
    return {name: list(value) if isinstance(value, tuple) else value for name, value in arguments.items()}


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(_is_plain(each) for each in value)
    return value is None or isinstance(value, bool | int | float | str)


def source_of(model: nn.Module) -> str:
    """A module's text that defines ``type(model)`` with all that it uses of our own code, and imports the rest."""
    definitions, name = Definitions(), type(model).__name__
    definitions.take(sys.modules[type(model).__module__], name)
    head = f'"""The network {name}, as Trainwright trained it; needs torch alone."""\n\nfrom __future__ import annotations\n'
    return "\n".join([head, *definitions.imports, "", "", definitions.text, ""])
