"""A person's own network inside a script: their file's text as it is, but for its imports, which go to the top, and for what
it does when it is run by itself."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterable

from training.errors import InputError
from training.export.definitions import defined_names

_INSTEAD = "rename it and train with that, or export safetensors, torch-export or onnx instead"


def refuse_other_draws(text: str) -> None:
    """Raise InputError for a file that draws with Python's or NumPy's random numbers. In a run they follow from seed and step;
    a script has torch's alone."""
    nodes = list(ast.walk(ast.parse(text)))
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    named = [
        f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
        for node in imports
        for alias in node.names
    ]
    bound = {name: meaning for node in imports for line in _single(node) for name, meaning in _meanings(line).items()}
    used = [
        f"{bound.get(node.value.id)}.{node.attr}"
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    ]
    if any(f"{name}.".startswith(("random.", "numpy.random.")) for name in (*named, *used)):
        raise InputError(
            "model.path: the file draws with Python's or NumPy's random numbers, which a script does not repeat; draw with torch "
            "and train with that, or export safetensors, torch-export or onnx instead."
        )


def taken_apart(text: str) -> tuple[list[str], str]:
    """The lines that import something at the top of the file, and the rest of ``text``."""
    lines, imports, left_out = text.splitlines(), [], set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports += _single(node)
        elif not (isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)):
            continue
        left_out |= set(range(node.lineno - 1, node.end_lineno or node.lineno))
    rest = [line for number, line in enumerate(lines) if number not in left_out]
    return imports, "\n".join(rest).strip("\n")


def _single(node: ast.Import | ast.ImportFrom) -> list[str]:
    """A line for each name."""
    parts: list[ast.stmt] = [ast.copy_location(_with(node, alias), node) for alias in node.names]
    return [ast.unparse(part) for part in parts]


def _with(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> ast.stmt:
    if isinstance(node, ast.Import):
        return ast.Import(names=[alias])
    return ast.ImportFrom(module=node.module, names=[alias], level=node.level)


def joined(ours: Iterable[str], theirs: Iterable[str]) -> list[str]:
    """Both imports' lines in their usual order, each name once. Raises InputError where a name would have two meanings."""
    known = {name: meaning for line in ours for name, meaning in _meanings(line).items()}
    first, more = [], []
    for line in dict.fromkeys(theirs):
        if line.startswith("from __future__ "):
            first.append(line)
            continue
        ((name, meaning),) = _meanings(line).items()
        if name in known and known[name] != meaning:
            raise InputError(
                f"model.path: the file imports {meaning} as {name}, which a script needs otherwise; {_INSTEAD}."
            )
        if name not in known or (line.startswith("import ") and " as " not in line and "." in line):
            more.append(line)
            known[name] = meaning
    lines = sorted(
        [line for line in ours if line] + more, key=lambda line: (line.startswith("from "), _module(line).lower())
    )
    standard = [line for line in lines if _module(line).partition(".")[0] in sys.stdlib_module_names]
    parts = (first, standard, [line for line in lines if line not in standard])
    return "\n\n".join("\n".join(part) for part in parts if part).split("\n")


def _module(line: str) -> str:
    return line.split()[1]


def _meanings(line: str) -> dict[str, str]:
    """Each name that a line of imports binds, and what it is."""
    if not line:
        return {}
    (node,) = ast.parse(line).body
    if isinstance(node, ast.Import):
        return {
            alias.asname or alias.name.partition(".")[0]: alias.name if alias.asname else alias.name.partition(".")[0]
            for alias in node.names
        }
    assert isinstance(node, ast.ImportFrom)
    return {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}


def refuse_clash(text: str, theirs: str, imports: Iterable[str]) -> None:
    """Raise InputError where the script ``text`` gives a name of the file's part ``theirs``, or one that the file ``imports``, a
    second meaning."""
    both, own = Counter(_names(text)), Counter(_names(theirs))
    imported = {name for line in imports for name in _meanings(line)}
    defined = {name for node in ast.parse(text).body for name in defined_names(node)}
    twice = sorted({name for name in own if both[name] > own[name]} | imported & (defined - own.keys()))
    if twice:
        raise InputError(f"model.path: the file calls something {twice[0]}, and so does a script; {_INSTEAD}.")


def _names(text: str) -> list[str]:
    found = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found += [alias.asname or alias.name.partition(".")[0] for alias in node.names]
        found += defined_names(node)
    return found
