"""``python -m training check``: what would be wrong with a run, without training."""

from __future__ import annotations

import argparse

from training.cli.options import load_given, workspace_of
from training.config.files import overrides_of
from training.console import Console
from training.events import PhaseChanged
from training.loading import expect_torch
from training.streams import print_json, say


def check(arguments: argparse.Namespace) -> int:
    """Tell every finding; returns the exit code."""
    config = load_given(arguments)
    expect_torch()
    from training.doctor import preflight

    console = Console()
    findings = preflight(
        config, workspace_of(arguments), lambda phase, share: console.event(PhaseChanged(phase=phase, fraction=share))
    )
    console.clear()
    marks = {"ok": "ok     ", "info": "note   ", "warning": "warning", "error": "ERROR  "}
    for finding in findings:
        advice = f" {finding.advice}" if finding.advice else ""
        tried = f" Try {' '.join(f'--set {text}' for text in overrides_of(finding.fix))}." if finding.fix else ""
        say(f"{marks[finding.level]}  {finding.title}{advice}{tried}")
    healthy = all(finding.level != "error" for finding in findings)
    if arguments.json:
        shown = [
            {"level": item.level, "title": item.title, "advice": item.advice, "fix": dict(item.fix)}
            for item in findings
        ]
        print_json({"ok": healthy, "findings": shown})
    return 0 if healthy else 2
