"""``python -m training run|resume``: a run from its start, or from where it was, to its end."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from typing import Any

from training.cli.options import add_config, add_profile, add_set, add_workspace, load_given, workspace_of
from training.cli.output import print_json
from training.console import Console, format_sheet
from training.control import stop_with_input
from training.reading import visible, visible_lines
from training.runs.complete import told_complete
from training.runs.folder import RunFolder
from training.runs.profile_record import read_profile
from training.runs.trust import add_trust, trust_resume
from training.runs.workspace import find_target, with_teacher_found

EXIT_CODES = {"completed": 0, "stopped": 130, "failed": 1}
CONTRACT = (
    "run", "folder", "status", "step", "epoch", "best", "last_checkpoint", "metrics", "skipped_steps",
    "samples_per_second", "reason", "fix",
)  # fmt: skip


def add_run(commands: Any) -> None:
    """Put the command into the parser's ``commands``."""
    run = commands.add_parser("run", help="train a configuration")
    add_config(run)
    add_profile(run)
    add_set(run)
    add_trust(run)
    add_workspace(run)
    run.set_defaults(command=_run)


def add_resume(commands: Any) -> None:
    """Put the command into the parser's ``commands``."""
    resume = commands.add_parser("resume", help="go on with a run")
    resume.add_argument(
        "target", metavar="RUN|CHECKPOINT_DIR", help="a run's id, name or folder, or one of its checkpoints"
    )
    resume.add_argument(
        "--dry-run", action="store_true", help="say what would be restored, changed and ignored, and train nothing"
    )
    resume.add_argument(
        "--branch",
        action="store_true",
        help="make a new run of it, and leave this one, with all that came later, as it is",
    )
    # For programs that begin a run and hold the other end of its standard input: not for people.
    resume.add_argument("--while-held", action="store_true", help=argparse.SUPPRESS)
    add_profile(resume)
    add_set(resume)
    add_trust(resume)
    add_workspace(resume)
    resume.set_defaults(command=_resume)


def _run(arguments: argparse.Namespace) -> int:
    config, workspace = load_given(arguments), workspace_of(arguments)
    from training.engine.run import Hooks, start_run

    console = Console()
    hooks = Hooks(started=console.started, watch=console.event, flushed=console.flushed, profile=arguments.profile)
    _stop_on_signals(hooks)
    source = None if arguments.config.startswith("preset:") else Path(arguments.config)
    return _ended(arguments, start_run(config, workspace, hooks, source), console)


def _resume(arguments: argparse.Namespace) -> int:
    workspace = workspace_of(arguments)
    folder, checkpoint = find_target(arguments.target, workspace)  # a wrong name is told before torch is loaded
    complete = "" if arguments.overrides or arguments.branch else told_complete(folder, checkpoint)
    arguments.overrides = with_teacher_found(arguments.overrides, workspace, Path())
    if arguments.trust:
        arguments.overrides = [*arguments.overrides, *trust_resume(folder, arguments.overrides)]
    from training.engine.run import Hooks, resume_run

    if arguments.dry_run:
        return _dry_run(arguments, workspace)
    console = Console()
    hooks = Hooks(console.planned, console.started, console.event, console.flushed, profile=arguments.profile)
    _stop_on_signals(hooks)
    if arguments.while_held:
        stop_with_input(hooks.control)
    record = resume_run(arguments.target, workspace, arguments.overrides, hooks, arguments.branch)
    code = _ended(arguments, record, console)
    if complete and not code:
        sys.stderr.write(f"{visible(complete)}\n")
    return code


def _dry_run(arguments: argparse.Namespace, workspace: Path) -> int:
    """Tell what a resume would do."""
    from training.engine.run import intend_resume

    intent = intend_resume(arguments.target, workspace, arguments.overrides, arguments.branch)
    checkpoint, sheet = intent.sheet()
    if arguments.json:
        told: dict[str, Any] = {
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
        sys.stderr.write(f"The run {visible(intent.folder.id)} has no checkpoint yet: {what} begins from the start.\n")
    else:
        sys.stderr.write(visible_lines("\n".join(format_sheet(sheet))) + "\n")
    return 0


def _stop_on_signals(hooks: Any) -> None:
    """The first SIGINT, SIGTERM or SIGHUP stops after the step and keeps everything; a second SIGINT ends at once, unsaved.

    SIGHUP says that the terminal was closed; under ``nohup`` it stays ignored.
    """

    def stop(_number: int, _frame: Any) -> None:
        hooks.control.request_stop()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, stop)


def _ended(arguments: argparse.Namespace, record: dict[str, Any], console: Console) -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run has ended; an impatient Ctrl+C must not cost its record
    try:
        return _tell_end(arguments, record, console)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _tell_end(arguments: argparse.Namespace, record: dict[str, Any], console: Console) -> int:
    console.ended(record)
    told = {key: record.get(key) for key in CONTRACT}
    if arguments.profile:
        folder = RunFolder(Path(record["folder"]))
        profile = read_profile(folder) if console.profiled else None
        console.profile(profile, folder.readable_config())
        told["profile"] = profile.model_dump() if profile else None
    if arguments.json:
        print_json(told)
    return EXIT_CODES[record["status"]]
