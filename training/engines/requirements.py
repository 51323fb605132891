"""What ``training`` needs of an environment, and whether a version will do. Without the package ``packaging``, which not everybody has."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from training.system.installed import canonical_name
from training.system.resources import engine_requirements

_REQUIREMENT = re.compile(
    r"\s*(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*\(?(?P<specifier>[^;()]*)\)?\s*(?:;(?P<marker>.*))?$"
)
_CLAUSE = re.compile(r"\s*(>=|<=|==|!=|~=|>|<)\s*([\w.+!*-]+)\s*$")
_COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "~=": operator.ge, "!=": operator.ne,
}  # fmt: skip


@dataclass(frozen=True)
class Requirement:
    """A package by its name in an index, and the versions that will do, as requirements are written (">=2.7")."""

    name: str
    specifier: str

    def __str__(self) -> str:
        return f"{self.name}{self.specifier}"


def list_requirements() -> list[Requirement]:
    """What this version of ``training`` needs; those for some systems alone are left out."""
    found = (_REQUIREMENT.match(text) for text in engine_requirements())
    return [
        Requirement(canonical_name(each["name"]), each["specifier"].strip())
        for each in found
        if each is not None and not each["marker"]
    ]


def is_met(requirement: Requirement, version: str | None) -> bool:
    """Whether ``version`` will do. By the numbers alone: a pre-release counts as its release."""
    if version is None:
        return False
    for clause in filter(None, requirement.specifier.split(",")):
        parts = _CLAUSE.match(clause)
        if parts is None or "*" in parts[2]:
            continue
        have, want = _numbers(version), _numbers(parts[2])
        length = max(len(have), len(want))
        have, want = (numbers + (0,) * (length - len(numbers)) for numbers in (have, want))
        compare = _COMPARE.get(parts[1])
        if not (compare(have, want) if compare else have == want):
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    """Of the release: "2.13.0+cpu" is (2, 13, 0)."""
    release = re.match(r"v?(?:\d+!)?(\d+(?:\.\d+)*)", version)
    return tuple(map(int, release[1].split("."))) if release else ()
