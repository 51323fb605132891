"""How the command line tells findings."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from training.console import format_finding, pick
from training.events import Finding
from training.findings.settings import FAULT

_MARKS = {"ok": "ok     ", "info": "note   ", "warning": "warning", "error": "ERROR  "}
_SAID = ("code", "place", "level", "title", "evidence", "advice", "fix")


def format_marked(finding: Finding) -> str:
    """A line: its level, what was found, what to do, and its key where it can be named to ``--fix`` or ``--mute``."""
    telling = finding.is_telling and finding.code not in ("", FAULT.code)
    return f"{_MARKS[finding.level]}  {format_finding(finding)}{f' [{finding.key}]' if telling else ''}"


def record_findings(findings: Sequence[Finding]) -> list[JsonValue]:
    """As JSON can hold them."""
    return [pick(item, *_SAID) for item in findings]


def record_run_findings(findings: Sequence[Finding]) -> list[JsonValue]:
    """The same of a run's, with the steps at which they were found, began and ended."""
    return [pick(item, *_SAID, "step", "since", "cleared_at") for item in findings]
