"""``python -m training prove``: whether a finding's fix, or other settings, cure a run, by some steps with them and without."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence

from training.cli.options import agree, workspace_of
from training.console import Console
from training.control import Control, stop_with_input
from training.events import PhaseChanged
from training.prove.plan import USUAL_ORDERS, ProofPlan, plan_proof
from training.prove.progress import Reached
from training.runs.cli_consent import trust_resume
from training.runs.folder import RunFolder, owner_of
from training.runs.records.proofs import Proof
from training.runs.workspace import find_run
from training.streams import print_json, say
from training.system.process import yield_processor


def prove(arguments: argparse.Namespace) -> int:
    """Tell what it takes, do it, and tell the verdict; returns the exit code, 130 where it was stopped before its end."""
    run = find_run(arguments.run, workspace_of(arguments))
    plan = _plan(arguments, run)
    for line in plan.words:
        say(line)
    if not (arguments.yes or arguments.while_held) and not agree():
        say("Nothing was begun.")
        return 130
    if arguments.trust:
        trust_resume(run, ())
    if owner_of(run.path) is not None:  # it is being trained: that goes first
        yield_processor()
    proof = _prove(arguments, plan)
    if proof is None:
        words = ["python", "-m", "training", "prove", str(run.path), *_name(arguments)]
        say(f"Stopped; the arms that are complete are kept. Go on with: {shlex.join(words)}")
        return 130
    for line in (proof.sentence, *proof.notes):
        say(line)
    if arguments.json:
        print_json({"run": run.id, **proof.model_dump(mode="json")})
    return 0


def _plan(arguments: argparse.Namespace, run: RunFolder, damaged: Sequence[str] = ()) -> ProofPlan:
    return plan_proof(run, arguments.code or "", arguments.overrides, arguments.steps, arguments.orders, damaged)


def _prove(arguments: argparse.Namespace, plan: ProofPlan) -> Proof | None:
    from training.laboratory.child import Interrupt, count_signals
    from training.prove.runner import Damaged, prove

    control, console = Control(), Console()
    if arguments.while_held:
        stop_with_input(control)

    class Stop(Interrupt):
        def ask(self, *_signal: object) -> None:
            control.request_stop()

    def report(phase: str, reached: Reached) -> None:
        words = f"{reached.words}" if phase == "training" else f"{reached.words} ({phase})"
        console.event(PhaseChanged(phase=words, fraction=reached.fraction))

    damaged: list[str] = []
    with count_signals(Stop()):
        while True:
            try:
                return prove(plan, say, report, control)
            except Damaged as error:
                assert plan.checkpoint is not None
                say(str(error))
                damaged.append(plan.checkpoint.name)
                plan = _plan(arguments, plan.run, damaged)
                say(plan.started)
            finally:
                console.clear()


def _name(arguments: argparse.Namespace) -> list[str]:
    """What was asked for, as it is typed."""
    words = [arguments.code] if arguments.code else []
    words += [word for each in arguments.overrides for word in ("--set", each)]
    words += ["--steps", str(arguments.steps)] if arguments.steps else []
    return [*words, *(["--orders", str(arguments.orders)] if arguments.orders != USUAL_ORDERS else [])]
