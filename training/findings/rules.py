"""All rules, by their codes."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from pydantic import JsonValue

from training.errors import InputError
from training.events import Finding
from training.findings import (
    curves,
    data,
    duration,
    gradients,
    labels,
    layers,
    machine,
    network,
    nonfinite,
    one_batch,
    probes,
    rival,
    settings,
    split,
    tables,
)
from training.findings.rule import Rule
from training.system.untrusted import escape_unprintable

FAMILIES: Mapping[str, tuple[Rule, ...]] = {
    "Tables": tables.RULES,
    "Samples": data.RULES,
    "Classes and labels": labels.RULES,
    "Parts": split.RULES,
    "Settings": settings.RULES,
    "Length and batches": duration.RULES,
    "Network and first loss": network.RULES,
    "Network, asked": probes.RULES,
    "Fit one batch": one_batch.RULES,
    "Non-finite numbers": nonfinite.RULES,
    "Machine": machine.RULES,
    "Machine, judged while training": machine.JUDGED,
    "Machine, watched while training": machine.TOLD,
    "Curves": curves.RULES,
    "Gradients": gradients.RULES,
    "Layers": layers.RULES,
    "Beside a simple model": rival.RULES,
}
RULES: Mapping[str, Rule] = {rule.code: rule for rules in FAMILIES.values() for rule in rules}


def require_code(key: str) -> None:
    """Raise InputError where no finding has the code of ``key``, which is "code" or "code:place"."""
    code = key.partition(":")[0]
    if code in RULES:
        return
    near = difflib.get_close_matches(code, RULES, n=1, cutoff=0.0)
    raise InputError(f"No finding has the code {escape_unprintable(code, 60)}; the nearest is {near[0]}.")


def is_named(finding: Finding, keys: Collection[str]) -> bool:
    """Whether ``keys``, each "code" or "code:place", name ``finding``."""
    return bool(finding.code) and (finding.code in keys or finding.key in keys)


def without_muted(found: Iterable[Finding], keys: Collection[str]) -> list[Finding]:
    """``found`` without what ``keys`` name; errors stay, since a run would end by them."""
    return [finding for finding in found if not is_dismissed(finding, keys)]


def without_idle_fix(found: Iterable[Finding], settings: Mapping[str, JsonValue]) -> Iterator[Finding]:
    """``found``, each without its fix where that proposes nothing but what ``settings`` have already: by their sections, as a file has
    them. What an error proposes stays."""
    for finding in found:
        idle = finding.level != "error" and all(_read(settings, path) == value for path, value in finding.fix.items())
        yield replace(finding, fix={}) if finding.fix and idle else finding


def _read(settings: Mapping[str, JsonValue], path: str) -> JsonValue:
    """What is set at "section.key" or "key"; None where nothing is."""
    section, _, name = path.rpartition(".")
    held = settings.get(section) if section else settings
    return held.get(name) if isinstance(held, Mapping) else None


def is_dismissed(finding: Finding, keys: Collection[str]) -> bool:
    """Whether ``finding`` is among ``keys``, which a person says are no problem in a run. An error is one, whatever is said."""
    return finding.level != "error" and is_named(finding, keys)


def merge_fixes(found: Iterable[Finding]) -> dict[str, JsonValue]:
    """The settings that all of ``found`` propose. Lists of one setting are joined; raises InputError where two propose different
    values."""
    merged: dict[str, JsonValue] = {}
    for finding in found:
        for path, value in finding.fix.items():
            before = merged.get(path, value)
            if isinstance(before, list) and isinstance(value, list):
                value = [*before, *(item for item in value if item not in before)]
            elif before != value:
                raise InputError(
                    f"{path}: {before} and {value} are both proposed; name one finding with its place, as CODE:PLACE."
                )
            merged[path] = value
    return merged
