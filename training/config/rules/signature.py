"""What the ``build(...)`` of a person's own Python file asks for: read as text, never run."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from training.errors import InputError
from training.system.untrusted import MEGABYTE, escape_unprintable, read_bytes

Sort = Literal["bool", "int", "float", "text", "choice", "numbers"]

FILLED: Mapping[str, str] = {
    "channels": "channels",
    "in_channels": "channels",
    "height": "height",
    "image_size": "image_size",
    "features": "features",
    "in_features": "features",
    "classes": "outputs",
    "outputs": "outputs",
    "num_classes": "outputs",
    "vocabulary": "vocabulary",
    "context": "context",
}
"""Parameters of ``build`` that the data fills in, and with what of it (``training.models.own.user_file``); "width" is one of
them beside "height" only, for alone it is a network's own."""

FUNCTION = "build"


@dataclass(frozen=True)
class Purpose:
    """What a file's ``build`` is for: what it ``returns``, an ``example`` of its first line, which parameters are ``filled`` in and not
    the person's to choose, a clause that says so, and which it must have."""

    returns: str
    example: str
    filled: frozenset[str]
    fills: str
    needs: frozenset[str] = frozenset()


NETWORK = Purpose(
    "the network",
    f"def {FUNCTION}(channels: int, classes: int, width: int = 64)",
    frozenset(FILLED),
    "is filled in from the data",
)
LOSS = Purpose(
    "the loss, a torch.nn.Module or a function of outputs and targets",
    f"def {FUNCTION}(weight: float = 1.0)",
    frozenset({"classes", "num_classes", "outputs"}),
    "is filled in from the data",
)
DATASET = Purpose(
    "the torch Dataset",
    f"def {FUNCTION}(split: str, size: int = 64)",
    frozenset({"split"}),
    'is "train" or "validation" in turn',
    frozenset({"split"}),
)
_MOST_BYTES = MEGABYTE
_SORTS: Mapping[str, Sort] = {"bool": "bool", "int": "int", "float": "float", "str": "text"}


@dataclass(frozen=True)
class Parameter:
    """One setting of a person's network. ``numbers`` says of a list which numbers it holds, and how many (0: any)."""

    name: str
    default: Any
    required: bool
    help: str
    sort: Sort
    optional: bool = False
    choices: tuple[str, ...] = ()
    numbers: Literal["int", "float"] = "int"
    count: int = 0


@dataclass(frozen=True)
class Signature:
    """``digest`` (SHA-256) and ``text`` of the file, what a person chooses and what the data fills in."""

    digest: str
    text: str
    parameters: tuple[Parameter, ...]
    filled: tuple[str, ...]
    summary: str


def read_signature(path: Path, purpose: Purpose = NETWORK) -> Signature:
    """The signature of ``build`` in ``path``, which is for ``purpose``. Raises InputError, naming file and line, for a file without one."""
    shown = escape_unprintable(str(path), 300)
    try:
        status = path.stat()
        return _read(str(path), purpose, status.st_mtime_ns, status.st_size)
    except OSError as error:
        raise InputError(f"{shown}: cannot be read ({error.strerror or error}); choose another file.") from error


@lru_cache(maxsize=8)
def _read(path: str, purpose: Purpose, _changed: int, _size: int) -> Signature:
    """By the file's times, because forms ask at each keystroke."""
    return signature_of(read_bytes(Path(path), _MOST_BYTES), path, purpose)


def signature_of(content: bytes, path: str, purpose: Purpose = NETWORK) -> Signature:
    """The same of a file's content; ``path`` is for messages."""
    shown = escape_unprintable(path, 300)
    try:
        text = content.decode("utf-8-sig")
        tree = ast.parse(text)
    except SyntaxError as error:
        raise InputError(f"{shown}, line {error.lineno or 1}: {error.msg}; correct the file.") from error
    except (ValueError, RecursionError, MemoryError) as error:  # no UTF-8, zero bytes, nested without end
        raise InputError(
            f"{shown}: is not readable as Python ({escape_unprintable(str(error), 100)}); choose another file."
        ) from error
    _refuse_packages(tree, Path(path), shown)
    builds = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == FUNCTION]
    if not builds:
        raise InputError(
            f"{shown}: defines no function {FUNCTION}(...) that returns {purpose.returns}; add one, for example "
            f"{purpose.example}."
        )
    build = builds[-1]  # which is the one that Python would call
    names = _arguments(build, shown)
    asked = [argument.arg for argument, _ in names]
    missing = sorted(purpose.needs - set(asked))
    if missing:
        raise InputError(
            f"{shown}, line {build.lineno}: {FUNCTION} has no parameter {missing[0]}; write for example {purpose.example}."
        )
    sized = purpose is NETWORK and "height" in asked
    filled = tuple(name for name in asked if name in purpose.filled or (name == "width" and sized))
    parameters = tuple(
        _parameter(argument, default, build, shown) for argument, default in names if argument.arg not in filled
    )
    summary = (ast.get_docstring(build) or "").strip().partition("\n\n")[0].replace("\n", " ")
    return Signature(hashlib.sha256(content).hexdigest(), text, parameters, filled, summary)


def _refuse_packages(tree: ast.Module, path: Path, shown: str) -> None:
    """A run keeps one file: what that one imports from beside it would be missing where the run goes on."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        relative = isinstance(node, ast.ImportFrom) and node.level > 0
        roots = [name.partition(".")[0] for name in names if name]
        beside = [name for name in roots if (path.parent / f"{name}.py").is_file() and path.stem != name]
        if relative or beside:
            what = f"the file {beside[0]}.py beside it" if beside else "a package of its own"
            line = getattr(node, "lineno", 1)
            raise InputError(
                f"{shown}, line {line}: imports {what}, but only a single file is supported; put all that it needs "
                "into it, or install the rest as a package."
            )


def _arguments(build: ast.FunctionDef, shown: str) -> list[tuple[ast.arg, ast.expr | None]]:
    arguments = build.args
    if arguments.vararg is not None or arguments.kwarg is not None or arguments.posonlyargs:
        raise InputError(
            f"{shown}, line {build.lineno}: {FUNCTION} takes *args, **kwargs or positional-only arguments, which no form can "
            "ask for; name each parameter."
        )
    missing: list[ast.expr | None] = [None] * (len(arguments.args) - len(arguments.defaults))
    plain = zip(arguments.args, [*missing, *arguments.defaults], strict=True)
    return [*plain, *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]


def _parameter(argument: ast.arg, default: ast.expr | None, build: ast.FunctionDef, shown: str) -> Parameter:
    where = f"{shown}, line {argument.lineno}: {argument.arg}"
    value = None
    if default is not None:
        try:
            value = ast.literal_eval(default)
        except (ValueError, TypeError, SyntaxError) as error:
            raise InputError(
                f"{where} has a default that only running the file would tell; write it as a plain value."
            ) from error
    if argument.annotation is None and value is None:
        raise InputError(f"{where} has neither a type nor a default; write for example {argument.arg}: int.")
    form = _of_annotation(argument.annotation) if argument.annotation is not None else _of_value(value)
    if form is None:
        kinds = "bool, int, float, str, Literal of texts, or a tuple of numbers"
        raise InputError(f"{where} has a type that no form can ask for; use {kinds}.")
    default_value = list(value) if isinstance(value, tuple) else value
    return Parameter(argument.arg, default_value, default is None, _help(build, argument.arg), **form)


def _of_annotation(node: ast.expr) -> dict[str, Any] | None:
    """What of a ``Parameter`` a type written in the file tells; None for one that no form knows."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):  # "int", as some write it
        try:
            node = ast.parse(node.value, mode="eval").body
        except SyntaxError:
            return None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides = [
            side for side in (node.left, node.right) if not (isinstance(side, ast.Constant) and side.value is None)
        ]
        inner = _of_annotation(sides[0]) if len(sides) == 1 else None
        return inner and {**inner, "optional": True}
    if isinstance(node, ast.Name | ast.Attribute):
        sort = _SORTS.get(_last(node))
        return {"sort": sort} if sort else None
    if not isinstance(node, ast.Subscript):
        return None
    inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    outer = _last(node.value)
    if outer == "Optional":
        inner = _of_annotation(inside[0])
        return inner and {**inner, "optional": True}
    if outer == "Literal":
        texts = [item.value for item in inside if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        return {"sort": "choice", "choices": tuple(texts)} if len(texts) == len(inside) else None
    types = [_last(item) for item in inside if not (isinstance(item, ast.Constant) and item.value is ...)]
    if outer in ("tuple", "Tuple", "list", "List", "Sequence") and types and set(types) <= {"int", "float"}:
        exact = outer in ("tuple", "Tuple") and len(types) == len(inside)
        return {
            "sort": "numbers",
            "numbers": "float" if "float" in types else "int",
            "count": len(types) if exact else 0,
        }
    return None


def _of_value(value: Any) -> dict[str, Any] | None:
    """What a default tells where no type is written."""
    if isinstance(value, bool | int | float | str):
        return {"sort": _SORTS[type(value).__name__]}
    if isinstance(value, tuple | list) and all(type(item) in (int, float) for item in value):
        return {"sort": "numbers", "numbers": "float" if any(isinstance(item, float) for item in value) else "int"}
    return None


def _last(node: ast.expr) -> str:
    """``Literal`` of ``typing.Literal``"""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


_PARAMETER = re.compile(r"\s*(?::param )?`*\*{0,2}(\w+)`*(?: ?\([^)]*\))?:\s+(\S.*)")


def _help(build: ast.FunctionDef, name: str) -> str:
    """What the docstring says of a parameter, in Google's form ("width: ...") or Sphinx's (":param width: ...")."""
    words: list[str] = []
    indent = 0
    for line in (ast.get_docstring(build) or "").splitlines():
        inset = len(line) - len(line.lstrip())
        found = _PARAMETER.match(line)
        if found and not words:
            words, indent = ([found[2].strip()], inset) if found[1] == name else ([], 0)
        elif words and line.strip() and inset > indent and not found:
            words.append(line.strip())
        elif words:
            break
    return " ".join(words)
