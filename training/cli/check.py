"""``python -m training check``: what would be wrong with a run, without training; or what this machine has to train on."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from training.cli.findings import format_marked, record_findings
from training.cli.options import load_given, workspace_of
from training.config import RunConfig, apply_overrides, parse_config
from training.config.files import config_data, overrides_of, save_config
from training.console import Console
from training.errors import InputError
from training.events import Finding, PhaseChanged
from training.findings import is_named, merge_fixes, require_code
from training.findings.machine import TORCH
from training.streams import print_json, say
from training.toml_text import Toml
from training.typed_paths import parse_path


def check(arguments: argparse.Namespace) -> int:
    """Tell every finding, and write the configuration that ``--fix`` and ``--mute`` make of it; returns the exit code."""
    if arguments.config is None:
        return _check_machine(arguments)
    for key in (*arguments.fix, *arguments.mute):
        require_code(key)
    out = _find_room(arguments)
    config = load_given(arguments)
    muted = {"muted_findings": [*dict.fromkeys((*config.muted_findings, *arguments.mute))]} if arguments.mute else {}
    config = _change(config, muted)
    console = Console()

    def report(phase: str, share: float | None) -> None:
        console.event(PhaseChanged(phase=phase, fraction=share))

    fit: dict[str, JsonValue] = {}
    if arguments.fit_one_batch:
        from training.doctor.one_batch import fit_one_batch

        fitted = fit_one_batch(config, report)
        findings = list(fitted.findings)
        fit = {"fit": fitted.model_dump(mode="json", exclude={"findings"})}
    else:
        from training.doctor import preflight

        findings = preflight(config, workspace_of(arguments), report, whole=arguments.whole)
    console.clear()
    healthy = _tell(findings)
    changes = muted | merge_fixes(_choose(findings, arguments.fix))
    if out is not None:
        save_config(_change(config, changes), out)
        say(f"Written to {out}: {', '.join(overrides_of(changes))}.")
    if arguments.json:
        written: dict[str, JsonValue] = {"written": str(out), "changes": changes} if out is not None else {}
        print_json({"ok": healthy, "findings": record_findings(findings), **fit, **written})
    return 0 if healthy or out is not None else 2


def _find_room(arguments: argparse.Namespace) -> Path | None:
    """Where the new configuration is to be written. Raises InputError, before anything is looked at."""
    if arguments.out is None:
        if arguments.fix:
            raise InputError("--fix writes a new configuration and never changes the old one: add --out NEW.toml.")
        return None
    if not arguments.fix and not arguments.mute:
        raise InputError("--out is where --fix or --mute writes a new configuration, and neither is given.")
    out = parse_path(arguments.out)
    if out.exists() or out.is_symlink():
        raise InputError(f"{out}: is there already; choose another name for --out.")
    return out


def _choose(findings: Sequence[Finding], keys: Sequence[str]) -> list[Finding]:
    """The findings that ``keys`` name. Raises InputError for a key that was not found, or that no setting mends."""
    for key in keys:
        named = [finding for finding in findings if is_named(finding, [key])]
        if not named:
            raise InputError(f"--fix {key}: was not found here, so nothing is written.")
        if not any(finding.fix for finding in named):
            raise InputError(f"--fix {key}: no setting mends it, so nothing is written. {named[0].advice}".strip())
    return [finding for finding in findings if is_named(finding, keys)]


def _change(config: RunConfig, changes: Mapping[str, JsonValue]) -> RunConfig:
    if not changes:
        return config
    data: dict[str, Toml] = dict(config_data(config))
    apply_overrides(data, overrides_of(changes))
    return parse_config(data, paths=False)


def _check_machine(arguments: argparse.Namespace) -> int:
    """The exit code is 1 where no run could work here: the one of Docker's health checks."""
    given = {"--set": arguments.overrides, "--fix": arguments.fix, "--mute": arguments.mute, "--out": arguments.out}
    if option := next((name for name, value in given.items() if value), ""):
        raise InputError(f"{option} changes a configuration, and none is given; see python -m training check --help.")
    if arguments.fit_one_batch:
        raise InputError("--fit-one-batch trains the network of a configuration, and none is given.")
    try:
        from training.doctor.machine import look_at_machine
    except (ImportError, OSError) as error:
        title = f"PyTorch cannot be loaded by {sys.executable}: {error}"
        findings = [TORCH.find("error", title, "Install it for this Python, or choose another engine.")]
        machine = {}
    else:
        environment, findings = look_at_machine()
        machine = environment.record()
    healthy = _tell(findings)
    if arguments.json:
        print_json({"ok": healthy, "machine": machine, "findings": record_findings(findings)})
    return 0 if healthy else 1


def _tell(findings: Sequence[Finding]) -> bool:
    """Whether no error is among them."""
    for finding in findings:
        say(format_marked(finding))
    return all(finding.level != "error" for finding in findings)
