"""Our own code taken along: definitions with all that they use of it, as text that needs nothing of ours.

Modules are read as files, never imported: the window writes scripts, too, and does without torch."""

from __future__ import annotations

import ast
from functools import cache
from itertools import pairwise
from pathlib import Path

import training

OURS = __name__.partition(".")[0]


class Definitions:
    """Gathers definitions, each after those that it uses."""

    def __init__(self, given: str = "") -> None:
        """``given``: a name that is defined elsewhere."""
        self._given = given
        self._known: set[tuple[str, str]] = set()
        self._texts: list[str] = []

    @property
    def text(self) -> str:
        return "".join(text + self._space(text, after) for text, after in pairwise([*self._texts, ""]))

    @staticmethod
    def _space(text: str, after: str) -> str:
        """Lines between two of them: constants stand together."""
        constant = not text.startswith(("def ", "class ", "@")) and not after.startswith(("def ", "class ", "@"))
        return "" if not after else "\n" if constant else "\n\n\n"

    def take(self, module: str, name: str) -> None:
        """Take what ``name`` means at the top of the module of ours that is called ``module``, and before it what that needs."""
        if (module, name) in self._known or name == self._given:
            return
        text, nodes = _parse(module)
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] == OURS:
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        self.take(str(node.module), alias.name)
            elif name in find_names(node):
                self._known |= {(module, each) for each in find_names(node)}
                for used in sorted(_find_used(node) - {name}):
                    self.take(module, used)
                lines = text.splitlines()
                first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
                self._texts.append("\n".join(lines[first - 1 : node.end_lineno]))


@cache
def _parse(module: str) -> tuple[str, list[ast.stmt]]:
    """A module's source, and the statements at its top."""
    file = Path(training.__file__).parent.joinpath(*module.split(".")[1:]).with_suffix(".py")
    text = file.read_text(encoding="utf-8")
    return text, ast.parse(text).body


def find_names(node: ast.stmt) -> set[str]:
    """The names that a statement at the top of a module gives a meaning."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}


def _find_used(node: ast.stmt) -> set[str]:
    """Every name in it; those in annotations, too: they are not looked at while it runs, but a reader looks for them."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
