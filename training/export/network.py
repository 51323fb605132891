"""The class of one of our own networks as a file that stands alone."""

from __future__ import annotations

import inspect
import sys
from typing import Any

from torch import nn

from training.errors import InputError
from training.export.definitions import OURS, Definitions

FILE = "network.py"


def is_ours(layer: nn.Module) -> bool:
    """Whether its class is defined by us, not by torch or another library."""
    return type(layer).__module__.partition(".")[0] == OURS


def constructor_of(model: nn.Module) -> tuple[dict[str, Any], list[nn.Module]]:
    """What ``type(model)`` was called with: plain values by name, and the networks it was given before them. Our own
    networks keep each argument as an attribute of that name.

    Raises InputError for a network that does not, or whose arguments are neither.
    """
    arguments: dict[str, Any] = {}
    parts: list[nn.Module] = []
    for parameter in list(inspect.signature(type(model).__init__).parameters.values())[1:]:
        value = getattr(model, parameter.name, ...)
        if isinstance(value, nn.Module):
            parts += value.children() if parameter.kind is parameter.VAR_POSITIONAL else [value]
        elif _is_plain(value):
            arguments[parameter.name] = list(value) if isinstance(value, tuple) else value
        else:
            name = type(model).__name__
            raise InputError(
                f"model.kind: {name} cannot be built again from plain values ({parameter.name}); export another model."
            )
    return arguments, parts


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(_is_plain(each) for each in value)
    return value is None or isinstance(value, bool | int | float | str)


def source_of(model: nn.Module) -> str:
    """A module's text that defines every class of ours in ``model``, with all that they use of our own code, and imports
    the rest."""
    definitions = definitions_of(model)
    head = '"""The network, as Trainwright trained it."""\n\nfrom __future__ import annotations\n'
    return "\n".join([head, *definitions.imports, "", "", definitions.text, ""])


def definitions_of(model: nn.Module) -> Definitions:
    """The classes of ours in ``model``."""
    definitions = Definitions()
    for layer in model.modules():
        if is_ours(layer):
            definitions.take(sys.modules[type(layer).__module__], type(layer).__name__)
    return definitions
