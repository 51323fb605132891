"""The class of one of our own networks as a file that stands alone."""

from __future__ import annotations

import ast
import inspect
import sys
from types import ModuleType
from typing import Any

from torch import nn

from training.errors import InputError

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
    written = _Written()
    written.take(sys.modules[type(model).__module__], type(model).__name__)
    return written.text(type(model).__name__)


class _Written:
    """Gathers definitions, each after those that it uses."""

    def __init__(self) -> None:
        self._known: set[tuple[str, str]] = set()
        self._imports: dict[str, None] = {}
        self._definitions: list[str] = []

    def text(self, name: str) -> str:
        imports = sorted(self._imports, key=lambda line: (line.startswith("from "), line))
        head = f'"""The network {name}, as Trainwright trained it; needs torch alone."""\n\nfrom __future__ import annotations\n'
        return "\n".join([head, *imports, "", ""]) + "\n\n\n".join(self._definitions) + "\n"

    def take(self, module: ModuleType, name: str) -> None:
        """Take what ``name`` means at the top of ``module``, and before it what that needs."""
        if (module.__name__, name) in self._known:
            return
        self._known.add((module.__name__, name))
        text = inspect.getsource(module)
        for node in ast.parse(text).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._import(node, name)
            elif name in _defined(node):
                for used in sorted(_used(node) - {name}):
                    if used in vars(module):
                        self.take(module, used)
                lines = text.splitlines()
                first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
                self._definitions.append("\n".join(lines[first - 1 : node.end_lineno]))

    def _import(self, node: ast.Import | ast.ImportFrom, name: str) -> None:
        for alias in node.names:
            if (alias.asname or alias.name.partition(".")[0]) != name:
                continue
            called = f" as {alias.asname}" if alias.asname else ""
            if isinstance(node, ast.Import):
                self._imports[f"import {alias.name}{called}"] = None
            elif str(node.module).partition(".")[0] == __name__.partition(".")[0]:
                self.take(sys.modules[str(node.module)], alias.name)
            else:
                self._imports[f"from {node.module} import {alias.name}{called}"] = None


def _defined(node: ast.stmt) -> set[str]:
    """The names that a statement at the top of a module gives a meaning."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}


def _used(node: ast.stmt) -> set[str]:
    """Every name in it; those in annotations, too: they are not looked at while it runs, but a reader looks for them."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
