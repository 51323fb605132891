"""The engine's own functions in an exported script: their very source, of exactly those that it uses."""

from __future__ import annotations

import ast
import inspect
import symtable
from importlib import import_module

from training import core
from training.tutorial.definitions import OURS, Definitions, find_names

_MORE = (
    *(f"data.augment.{name}" for name in ("draws", "shift", "rectangles", "erasing", "warp", "frames", "geometry")),
    *(f"data.augment.{name}" for name in ("color", "jitter", "auto", "mixing")),
    "models.networks.renormalized",
    "models.transfer",
    "models.networks.whitening",
    "optim.freezing",
    "optim.muon",
)
"""What besides core is text for scripts, below ``training``: it imports core and torch only."""

MODULES = tuple(
    import_module(name)
    for name in (*(f"{core.__name__}.{name}" for name in core.ORDER), *(f"{OURS}.{name}" for name in _MORE))
)
NAMES = tuple(
    (module.__name__, name)
    for module in MODULES
    for node in ast.parse(inspect.getsource(module)).body
    for name in find_names(node)
)
"""(module, name) of all that stands at the top of one of them."""

_MARK = "#CORE#"


def paste_core(text: str) -> str:
    """``text`` with what it uses of ours, and what that uses, at its mark: a line of its own."""
    table = symtable.symtable(text, "script", "exec")
    used = _look_up(table) - {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned()}
    definitions = Definitions()
    for module, name in NAMES:
        if name in used:
            definitions.take(module, name)
    return text.replace(f"\n{_MARK}\n", f"\n{definitions.text}\n")


def _look_up(table: symtable.SymbolTable) -> set[str]:
    """The names that are looked up at the top of the script, in whatever function."""
    top = table.get_type() == "module"
    found = {
        symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced() and (top or symbol.is_global())
    }
    return found.union(*map(_look_up, table.get_children()))
