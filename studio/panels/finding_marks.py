"""Where on the curves of a run a finding is marked: at the step at which it began, or over the steps in which it held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from studio.charts.plots.markers import MarkerKind
from studio.state.runs.run_findings import identify_finding
from training.errors import pluralize
from training.events import Finding, FindingLevel

_CHARTS: dict[str, str] = {
    "val": "metric", "classes": "metric", "grad": "grad_norm", "nonfinite": "grad_norm", "units": "grad_norm", "weight": "grad_norm",
    "batch": "grad_norm", "lr": "lr", "schedule": "lr", "update": "lr",
}  # fmt: skip
"""By the family of its code the plot that it concerns; the loss, where it is none of these."""
_KINDS: dict[FindingLevel, MarkerKind] = {"error": "error", "warning": "warning", "info": "note"}
_WORST_FIRST: tuple[MarkerKind, ...] = ("error", "warning", "note")
_MOST = 60
_LONGEST = 120  # characters of a title


@dataclass(frozen=True)
class FindingMark:
    """One or several findings of one plot that began at ``step``. ``until`` is the step at which all were cleared, None where one holds.
    ``name`` identifies the worst of them."""

    name: str
    chart: str
    kind: MarkerKind
    step: int
    until: int | None
    text: str


def place_findings(findings: Sequence[Finding]) -> list[FindingMark]:
    """A mark for each plot and step at which something began. What was found before the first step is marked where it is of the learning
    rate, at its beginning; else it has no place on a curve, nor has a note that no rule gives."""
    places: dict[tuple[str, int], list[Finding]] = {}
    for finding in findings:
        step = finding.since if finding.since is not None else finding.step
        chart = _CHARTS.get(finding.code.partition(".")[0], "loss")
        has_place = step > 0 or chart == "lr"
        if has_place and finding.level in _KINDS and (finding.code or finding.level != "info"):
            places.setdefault((chart, max(step, 1)), []).append(finding)
    newest = sorted(places.items(), key=lambda place: place[0][1])[-_MOST:]
    return [_make_mark(chart, step, found) for (chart, step), found in newest]


def _make_mark(chart: str, step: int, found: list[Finding]) -> FindingMark:
    standing = [finding for finding in found if finding.cleared_at is None]
    worst = min(standing or found, key=lambda finding: _WORST_FIRST.index(_KINDS[finding.level]))
    until = None if standing else max(finding.cleared_at or 0 for finding in found)
    lines = [_describe(finding) for finding in found]
    text = lines[0] if len(lines) == 1 else "\n".join([f"{pluralize(len(lines), 'finding')}:", *lines])
    return FindingMark(identify_finding(worst), chart, _KINDS[worst.level], step, until, f"Step {step:,}: {text}")


def _describe(finding: Finding) -> str:
    title = finding.title if len(finding.title) <= _LONGEST else f"{finding.title[:_LONGEST]}…"
    return title if finding.cleared_at is None else f"{title} Cleared at step {finding.cleared_at:,}."
