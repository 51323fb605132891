"""The functions of ``training.core`` in an exported script: their very source, of exactly those that it uses."""

from __future__ import annotations

import ast
import inspect

from training.core import balance, counter_rng, schedules, splits
from training.export.definitions import Definitions, defined_names

MODULES = (balance, counter_rng, schedules, splits)
NAMES = tuple(
    (module.__name__, name)
    for module in MODULES
    for node in ast.parse(inspect.getsource(module)).body
    for name in defined_names(node)
)
"""(module, name) of all that stands at the top of one of them."""

_MARK = "#CORE#"


def paste_core(text: str) -> str:
    """``text`` with what it uses of core, and what that uses, at its mark: a line of its own."""
    tree = ast.parse(text)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    definitions = Definitions()
    modules = {module.__name__: module for module in MODULES}
    for module, name in NAMES:
        if name in used:
            definitions.take(modules[module], name)
    return text.replace(f"\n{_MARK}\n", f"\n{definitions.text}\n")
