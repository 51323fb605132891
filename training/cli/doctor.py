"""``python -m training doctor``: what is wrong with a run, by what it has recorded; nothing is changed, nothing trained."""

from __future__ import annotations

import argparse
import os
import signal

from training.cli.findings import format_marked, record_run_findings
from training.cli.options import workspace_of
from training.config.files import overrides_of
from training.console import pick
from training.diagnosis import read_recorded, replay
from training.diagnosis.looks import current
from training.errors import pluralize
from training.events import Finding
from training.findings import is_dismissed, without_muted
from training.runs.folder import RunFolder, owner_of
from training.runs.records.about import read_about
from training.runs.records.proofs import Proof, read_proofs
from training.runs.trace_plan import plan_trace
from training.runs.workspace import find_run
from training.streams import print_json, write_out
from training.system.held_input import call_at_its_end
from training.system.process import yield_processor
from training.system.untrusted import escape_unprintable

_LEVELS = ("error", "warning", "info")


def judge_run(arguments: argparse.Namespace) -> int:
    """Tell what holds of a run and what held once; returns the exit code: 0 nothing above a note, 1 a warning, 2 an error."""
    folder = find_run(arguments.run, workspace_of(arguments))
    if arguments.trace is not None:
        return _trace(folder, arguments)
    run = read_recorded(folder)
    earlier = without_muted((each for each in run.findings if not each.set_aside), run.config.muted_findings)
    told = [*earlier, *replay(run)]
    found = sorted(
        (each for each in current(told) if each.level in _LEVELS), key=lambda each: _LEVELS.index(each.level)
    )
    about = read_about(folder)
    dismissed = [each for each in found if is_dismissed(each, about.dismissed)]
    holds = [each for each in found if each not in dismissed]
    over = {each.key: each for each in told if each.cleared_at is not None}
    over = {key: each for key, each in over.items() if key not in {held.key for held in found}}
    proofs = read_proofs(folder)
    if arguments.json:
        worst = holds[0].level if holds else "ok"
        print_json(
            {
                "run": folder.id,
                "folder": str(folder.path),
                "status": folder.status().status,
                "step": run.step,
                "total_steps": run.total_steps,
                "ok": worst not in ("error", "warning"),
                "findings": record_run_findings(holds),
                "dismissed": record_run_findings(dismissed),
                "over": record_run_findings(list(over.values())),
                "proofs": [{**pick(each, "key", "finding", "fix", "verdict", "sentence")} for each in proofs],
            }
        )
    else:
        lines = [f"{folder.id}: {run.step:,} of {pluralize(run.total_steps, 'step')}, {folder.status().status}"]
        lines += [_format(each) for each in holds]
        lines += [f"put away {each.title} No problem in this run, you said. [{each.key}]" for each in dismissed]
        lines += [f"over     until step {each.cleared_at:,}: {each.title}" for each in over.values()]
        lines += [f"proof    {_name(each)}: {each.sentence}" for each in proofs]
        if not holds:
            but = ", but for what was put away" if dismissed else ""
            lines.append(f"ok       Nothing is wrong{but}, as far as what it recorded tells.")
        write_out("".join(f"{escape_unprintable(line)}\n" for line in lines))
    return 2 if holds and holds[0].level == "error" else int(bool(holds) and holds[0].level == "warning")


def _name(proof: Proof) -> str:
    return proof.finding or ", ".join(overrides_of(proof.fix))


def _trace(folder: RunFolder, arguments: argparse.Namespace) -> int:
    """Compute a skipped step again, and tell what produced the first number that is not finite."""
    plan = plan_trace(folder, arguments.trace or None)
    if not arguments.json:
        write_out(f"{plan.words}\n")
    if arguments.while_held:  # nothing is written, so nothing is left behind
        call_at_its_end(lambda: os.kill(os.getpid(), signal.SIGTERM))
    if owner_of(folder.path) is not None:  # it is being trained: that goes first
        yield_processor()
    from training.engine.recovery.trace import trace_step  # torch

    found = trace_step(plan)
    if arguments.json:
        print_json(
            {"run": folder.id, "step": plan.skip.step, "from": plan.start, "findings": record_run_findings([found])}
        )
    else:
        write_out(f"{escape_unprintable(_format(found))}\n")
    return 1


def _format(finding: Finding) -> str:
    since = "" if finding.since is None else f" Since step {finding.since:,}."
    return f"{format_marked(finding)}{since}"
