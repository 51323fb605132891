"""``python -m training check``: what would be wrong with a run, without training."""

from __future__ import annotations

import argparse

from training.cli.options import load_given, workspace_of
from training.console import Console, format_finding, pick
from training.events import PhaseChanged
from training.streams import print_json, say


def check(arguments: argparse.Namespace) -> int:
    """Tell every finding; returns the exit code."""
    config = load_given(arguments)
    from training.doctor import preflight

    console = Console()
    findings = preflight(
        config, workspace_of(arguments), lambda phase, share: console.event(PhaseChanged(phase=phase, fraction=share))
    )
    console.clear()
    marks = {"ok": "ok     ", "info": "note   ", "warning": "warning", "error": "ERROR  "}
    for finding in findings:
        say(f"{marks[finding.level]}  {format_finding(finding)}")
    healthy = all(finding.level != "error" for finding in findings)
    if arguments.json:
        print_json({"ok": healthy, "findings": [pick(item, "level", "title", "advice", "fix") for item in findings]})
    return 0 if healthy else 2
