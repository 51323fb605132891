"""What a script's comments speak of, compared with what the script has."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from typing import Any

from training.config import RunConfig
from training.config.fields import Section


def unknown_settings(text: str, config: Mapping[str, Any]) -> list[str]:
    """What the comments and docstrings of the script ``text`` call a setting, though neither the script nor the run's
    ``config`` has it: NAMES in capitals, names_of_settings, section.settings, --options, titles as MixUp, and neighbors."""
    nodes = list(ast.walk(ast.parse(text)))
    known = _names(nodes)
    settings = dict(_settings())
    titles = {name: title for name, title in settings.items() if re.search("[a-z][A-Z]", title)}  # no usual words
    return sorted(
        found
        for words in _comments(text, nodes)
        for found in {
            *(name for name in re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", words) if name not in known),
            *(name for name in re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", words) if name in settings and _lacks(known, name)),
            *(name for name in re.findall(rf"\b(?:{_SECTIONS})\.[a-z_]+", words) if not _is_there(name, config)),
            *(option for option in re.findall(r"--[a-z]+", words) if f'"{option}"' not in text and option != "--help"),
            *(title for name, title in titles.items() if title in words and _lacks(known, name)),
            *re.findall(r"\b(?:next|previous|other) (?:setting|option)s?\b", words),
        }
    )  # fmt: skip


_SECTIONS = "|".join(name for name, field in RunConfig.model_fields.items() if name not in ("name", "seed"))


def _comments(text: str, nodes: list[ast.AST]) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield ast.get_docstring(node) or ""


def _names(nodes: list[ast.AST]) -> set[str]:
    keys = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return keys | {getattr(node, kind, "") or "" for node in nodes for kind in ("id", "arg", "attr")}


def _lacks(known: set[str], name: str) -> bool:
    return not {name, name.upper()} & known


def _settings(section: type[Section] = Section) -> Iterator[tuple[str, str]]:
    """Name and title of each setting there is."""
    for kind in section.__subclasses__():
        yield from ((name, field.title or name) for name, field in kind.model_fields.items())
        yield from _settings(kind)


def _is_there(name: str, config: Mapping[str, Any]) -> bool:
    section, _, key = name.partition(".")
    return key in config.get(section, {})
