"""``python -m training check``: what would be wrong with a run, without training; or what this machine has to train on."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from training.cli.options import load_given, workspace_of
from training.console import Console, format_finding, pick
from training.errors import InputError
from training.events import Finding, PhaseChanged
from training.streams import print_json, say

_MARKS = {"ok": "ok     ", "info": "note   ", "warning": "warning", "error": "ERROR  "}


def check(arguments: argparse.Namespace) -> int:
    """Tell every finding; returns the exit code."""
    if arguments.config is None:
        return _check_machine(arguments)
    config = load_given(arguments)
    from training.doctor import preflight

    console = Console()
    findings = preflight(
        config, workspace_of(arguments), lambda phase, share: console.event(PhaseChanged(phase=phase, fraction=share))
    )
    console.clear()
    healthy = _tell(findings)
    if arguments.json:
        print_json({"ok": healthy, "findings": _records(findings)})
    return 0 if healthy else 2


def _check_machine(arguments: argparse.Namespace) -> int:
    """The exit code is 1 where no run could work here: the one of Docker's health checks."""
    if arguments.overrides:
        raise InputError("--set changes a configuration, and none is given; see python -m training check --help.")
    try:
        from training.doctor.machine import look_at_machine
    except (ImportError, OSError) as error:
        title = f"PyTorch cannot be loaded by {sys.executable}: {error}"
        findings = [Finding(level="error", title=title, advice="Install it for this Python, or choose another engine.")]
        machine = {}
    else:
        environment, findings = look_at_machine()
        machine = environment.record()
    healthy = _tell(findings)
    if arguments.json:
        print_json({"ok": healthy, "machine": machine, "findings": _records(findings)})
    return 0 if healthy else 1


def _tell(findings: Sequence[Finding]) -> bool:
    """Whether no error is among them."""
    for finding in findings:
        say(f"{_MARKS[finding.level]}  {format_finding(finding)}")
    return all(finding.level != "error" for finding in findings)


def _records(findings: Sequence[Finding]) -> list[dict[str, object]]:
    return [{**pick(item, "level", "title", "advice", "fix")} for item in findings]
