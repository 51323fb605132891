"""On which systems a package of an environment is needed, from what the packages there ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import PackageNotFoundError, requires, version

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from training.system.installed import Package

_PLATFORM = ("sys_platform", "platform_system", "platform_machine", "os_name")
_MOST = 4
"""Ways in which a package comes to be needed, from which on it is said to be needed everywhere."""

Conditions = frozenset[str]
_ALWAYS: Conditions = frozenset([""])


def read_requirements(package: Package) -> list[str]:
    """What the package asks for, as it is installed here; empty where it is not, or in another version."""
    try:
        return (requires(package.name) or []) if version(package.name) == package.version else []
    except PackageNotFoundError:
        return []


def find_markers(
    packages: Iterable[Package], ask: Callable[[Package], Iterable[str]] = read_requirements
) -> dict[str, str]:
    """The environment marker of each package that some systems do without, by its name (``sys_platform == "linux"``).

    A package needed by one that is itself needed on Linux alone is needed on Linux alone. Where it is not clear, there is
    no marker: pip then refuses on a system that has no such package, instead of leaving it out.
    """
    asked = {package.name: [*_parse(ask(package))] for package in packages}
    edges = _edges(asked)
    needed: dict[str, Conditions] = {name: frozenset() if edges.get(name) else _ALWAYS for name in asked}
    for _ in asked:  # a longer chain there cannot be
        after = {name: _join(edges.get(name, []), needed) for name in asked}
        if after == needed:
            break
        needed = after
    return {name: _say(conditions) for name, conditions in needed.items() if conditions and "" not in conditions}


def _parse(texts: Iterable[str]) -> Iterable[Requirement]:
    for text in texts:
        try:
            yield Requirement(text)
        except InvalidRequirement:
            continue


def _edges(asked: Mapping[str, list[Requirement]]) -> dict[str, list[tuple[str, str]]]:
    """For each package, who needs it here and on which platforms ("" for all)."""
    extras: dict[str, set[str]] = {name: set() for name in asked}
    while True:
        known = {name: set(some) for name, some in extras.items()}
        edges: dict[str, list[tuple[str, str]]] = {}
        for name, requirements in asked.items():
            for requirement in requirements:
                other, marker = canonicalize_name(requirement.name), requirement.marker
                if other in asked and other != name and _holds(requirement, known[name]):
                    extras[other] |= requirement.extras
                    text = str(marker or "")
                    platform = any(key in text for key in _PLATFORM) and "extra" not in text
                    edges.setdefault(other, []).append((name, text if platform else ""))
        if known == extras:
            return edges


def _holds(requirement: Requirement, extras: set[str]) -> bool:
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in (*extras, ""))


def _join(edges: Iterable[tuple[str, str]], needed: Mapping[str, Conditions]) -> Conditions:
    edges = list(edges)
    if not edges:
        return _ALWAYS
    found = {_and(above, marker) for parent, marker in edges for above in needed[parent]}
    return _ALWAYS if "" in found or len(found) > _MOST else frozenset(found)


def _and(above: str, marker: str) -> str:
    if not above or not marker or marker in above:
        return above or marker
    return f"({above}) and ({marker})"


def _say(conditions: Conditions) -> str:
    return " or ".join(f"({each})" for each in sorted(conditions)) if len(conditions) > 1 else next(iter(conditions))
