"""``python -m training run|resume``: a run from its start, or from where it was, to its end."""

from __future__ import annotations

import argparse
import math
import os
import signal
import time
from pathlib import Path
from types import FrameType
from typing import Any

from pydantic import JsonValue

from training.cli.options import load_given, workspace_of
from training.cli.probe import judge_timed
from training.cli.ranks import train_in_ranks
from training.config import RunConfig
from training.config.diff import diff
from training.console import Console, format_sheet
from training.control import TERM_REASON, stop_with_input
from training.copies.settings import parse_address
from training.errors import InputError, RunBusyError
from training.laboratory.child import BUSY
from training.launch import torchrun
from training.notebook import begin_run
from training.runs.cli_consent import trust_resume
from training.runs.complete import explain_complete
from training.runs.folder import RunFolder
from training.runs.records.forms import StatusRecord
from training.runs.records.ranks import read_ranks
from training.runs.relocation import config_here, config_wanted
from training.runs.resume_plan import keeps_run
from training.runs.step_profile import read_profile
from training.runs.workspace import find_target, with_teacher_found
from training.streams import print_json, say
from training.system.interrupts import end_at_once

SAME_REQUEST_SECONDS = 0.2
EXIT_CODES = {"completed": 0, "stopped": 130, "failed": 1}
CONTRACT = (
    "run", "folder", "status", "step", "epoch", "best", "last_checkpoint", "metrics", "skipped_steps",
    "samples_per_second", "reason", "fix",
)  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Train a configuration; returns the exit code."""
    return train_in_ranks(arguments, lambda: (load_given(arguments), True), _run, timed=not arguments.no_probe)


def _run(arguments: argparse.Namespace, ranks: Any) -> int:
    config, workspace = load_given(arguments), workspace_of(arguments)
    from training.doctor.quick import warn_before_start
    from training.doctor.rival import judge_beside_simple
    from training.engine.runs.run import Hooks

    console = Console()
    hooks = Hooks(console.print_plan, console.keep_folder, watch=console.event, flushed=console.draw_progress)
    hooks.compare = judge_beside_simple
    hooks.control.profile, hooks.trackers = arguments.profile, tuple(arguments.track)
    hooks.copy_to = parse_address(arguments.copy_to) if arguments.copy_to else ""
    hooks.ranks = ranks or hooks.ranks
    hooks.judge = judge_timed(warn_before_start, hooks.ranks.count, "; --no-probe leaves that out")
    _stop_on_signals(hooks)
    source = None if arguments.config.startswith("preset:") else Path(arguments.config)
    return _report_end(arguments, begin_run(config, workspace, hooks, source, arguments.overrides), console)


def resume(arguments: argparse.Namespace) -> int:
    """Go on with a run; returns the exit code."""
    workspace = workspace_of(arguments)
    folder, checkpoint = find_target(arguments.target, workspace)  # a wrong name is told before torch is loaded
    complete = "" if arguments.overrides else explain_complete(folder, checkpoint)
    if complete and arguments.branch:
        raise InputError(complete)
    arguments.overrides = with_teacher_found(arguments.overrides, workspace, Path())
    if arguments.trust:
        arguments.overrides = [*arguments.overrides, *trust_resume(folder, arguments.overrides)]
    if arguments.dry_run:
        return _dry_run(arguments, workspace)

    if arguments.ranks is None and torchrun.world_size() == 1 and not (complete or arguments.overrides):
        _tell_shared(folder)

    def train(arguments: argparse.Namespace, ranks: Any) -> int:
        return _resume(arguments, workspace, folder, complete, ranks)

    def read() -> tuple[RunConfig, bool]:
        wanted = config_wanted(folder, arguments.overrides)
        return wanted, arguments.branch or not keeps_run(diff(config_here(folder), wanted))

    return train_in_ranks(arguments, read, train, arguments.timed, folder)


def _tell_shared(folder: RunFolder) -> None:
    """Who goes on alone with what several processes trained may not mean to: it takes longer, and other last bits."""
    shared = read_ranks(folder.path)
    if shared is not None:
        count = len(shared.ranks)
        say(f"note: {count} processes shared this run, and one goes on with it; --ranks {count} shares it again.")


def _resume(arguments: argparse.Namespace, workspace: Path, folder: RunFolder, complete: str, ranks: Any) -> int:
    from training.doctor.quick import warn_before_start
    from training.doctor.rival import judge_beside_simple
    from training.engine.runs.run import Hooks, resume_run, train_made_run

    console = Console()
    hooks = Hooks(console.print_plan, console.keep_folder, console.event, console.draw_progress)
    hooks.compare = judge_beside_simple
    hooks.control.profile, hooks.trackers = arguments.profile, tuple(arguments.track)
    hooks.copy_to = parse_address(arguments.copy_to) if arguments.copy_to else ""
    hooks.ranks = ranks or hooks.ranks
    _stop_on_signals(hooks)
    if arguments.while_held:
        stop_with_input(hooks.control)
    if arguments.made:
        hooks.judge = judge_timed(warn_before_start, hooks.ranks.count)
        try:
            record = train_made_run(folder, workspace, hooks)
        except RunBusyError as error:
            say(str(error))
            return BUSY
    else:
        record = resume_run(arguments.target, workspace, arguments.overrides, hooks, arguments.branch)
    code = _report_end(arguments, record, console)
    if complete and not code:
        say(complete)
    return code


def _dry_run(arguments: argparse.Namespace, workspace: Path) -> int:
    """Tell what a resume would do."""
    from training.engine.runs.run import intend_resume

    intent = intend_resume(arguments.target, workspace, arguments.overrides, arguments.branch)
    checkpoint, sheet = intent.sheet()
    if arguments.json:
        told: dict[str, JsonValue] = {
            "run": intent.folder.id,
            "folder": str(intent.folder.path),
            "checkpoint": str(checkpoint) if checkpoint else None,
            "same_run": intent.same_run,
            "changed": [{"setting": item.path, "from": item.old, "to": item.new} for item in (sheet or intent).changed],
        }
        names = ("continues", "restored", "ignored", "notes")
        print_json(told | {name: getattr(sheet, name, None) for name in names})
    elif sheet is None:
        what = "this run" if intent.same_run else "a new run"
        say(f"The run {intent.folder.id} has no checkpoint yet: {what} begins from the start.")
    else:
        for line in format_sheet(sheet):
            say(line)
    return 0


def _stop_on_signals(hooks: Any) -> None:
    """The first SIGINT, SIGTERM or SIGHUP stops after the step and keeps everything; a second SIGINT or SIGTERM ends at once,
    unsaved.

    SIGHUP says that the terminal was closed; under ``nohup`` it stays ignored.
    """
    asked = -math.inf

    def stop(number: int, _frame: Any) -> None:
        nonlocal asked
        asked = time.monotonic()
        hooks.control.request_stop(os.environ.get(TERM_REASON, "") if number == signal.SIGTERM else "")
        signal.signal(signal.SIGINT, end_at_once)
        signal.signal(signal.SIGTERM, end)

    def end(number: int, frame: FrameType | None) -> None:
        # What ends processes in their time (timeout, batch systems) tells the process and then its group, too.
        if time.monotonic() - asked > SAME_REQUEST_SECONDS:
            end_at_once(number, frame)

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, stop)


def _report_end(arguments: argparse.Namespace, record: StatusRecord, console: Console) -> int:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the run has ended; impatience must not cost its record
    try:
        return _tell_end(arguments, record, console)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _tell_end(arguments: argparse.Namespace, record: StatusRecord, console: Console) -> int:
    console.print_end(record)
    told = record.model_dump(include=set(CONTRACT))
    if arguments.profile:
        folder = RunFolder(Path(record.folder))
        profile = read_profile(folder) if console.profiled else None
        console.profile(profile, folder.readable_config())
        told["profile"] = profile.model_dump() if profile else None
    if arguments.json:
        print_json(told)
    return EXIT_CODES[record.status]
