"""What a script has of our own code."""

from __future__ import annotations

import ast
import inspect
import sys

from training.export.core_source import NAMES


def compare_pasted(text: str) -> set[str]:
    """The names of ours that the script ``text`` defines, each of which has the very source that it has with us."""
    ours = {name: getattr(sys.modules[module], name) for module, name in NAMES}
    found = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in ours:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            source = "\n".join(text.splitlines()[first - 1 : node.end_lineno])
            assert source == inspect.getsource(ours[node.name]).rstrip(), node.name
            found.add(node.name)
    return found
