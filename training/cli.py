"""The command line: ``python -m training run|resume|check|export|generate|lab|presets|runs|show|schema``.

Progress goes to stderr; with ``--json`` the last line of stdout is one JSON object. Exit codes: 0 completed, 130 stopped
on request, 2 bad config or input, 1 failed.
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from training.arguments import Parser, parse_words
from training.config import RunConfig, load_config
from training.config.files import overrides_of, read_config_text, read_toml
from training.console import (
    Console,
    format_attempt,
    format_checkpoint,
    format_evaluation,
    format_origin,
    format_profile,
    format_run,
    format_runs,
    format_sheet,
    format_skips,
    format_value,
    last_attempt,
    shown_history,
)
from training.control import stop_with_input
from training.errors import InputError, TrainingError
from training.generation import add_generate
from training.laboratory.command import add_lab
from training.presets import load_preset
from training.presets.command import add_presets
from training.process import tune_process
from training.reading import visible, visible_lines
from training.runs.complete import told_complete
from training.runs.folder import RunFolder, read_json
from training.runs.profile_record import read_profile
from training.runs.trust import add_trust, trust_file, trust_resume, trust_run
from training.runs.workspace import (
    default_workspace,
    find_checkpoint,
    find_run,
    find_target,
    typed_path,
    with_teacher_found,
)

EXIT_CODES = {"completed": 0, "stopped": 130, "failed": 1}
CONTRACT = (
    "run", "folder", "status", "step", "epoch", "best", "last_checkpoint", "metrics", "skipped_steps",
    "samples_per_second", "reason", "fix",
)  # fmt: skip


def main(argv: Sequence[str]) -> int:
    """Run one command; returns the exit code. Nothing is printed as a traceback for a fault of the input."""
    try:
        arguments = parse_words(*_parser(), argv)
        tune_process()
        return int(arguments.command(arguments))
    except TrainingError as error:
        sys.stderr.write(f"{visible(str(error))}\n")
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted at once; a run that was under way can be resumed from its last checkpoint.\n")
        return 130
    except MemoryError:  # so little is left that not even the end of the run could be written down
        sys.stderr.write("The memory ran out; the run can be resumed from its last checkpoint in smaller batches.\n")
        return 1
    except BrokenPipeError:  # the reader of our output has gone: nothing left to say
        sys.stderr.close()
        return 0
    except OSError as error:  # a path too long, a folder or disk that cannot be written
        sys.stderr.write(
            f"{_shown(error.filename)}: {error.strerror or error}; check the path, its permissions and the disk.\n"
        )
        return InputError.exit_code


def _parser() -> tuple[Parser, Mapping[str, Parser]]:
    """With its commands by name."""
    parser = Parser(prog="python -m training", description="Train PyTorch models from a TOML file.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    config_help = "a TOML file, or preset:NAME for one that comes with the program"

    run = commands.add_parser("run", help="train a configuration")
    run.add_argument("config", metavar="CONFIG.toml", help=config_help)
    _add_profile(run)
    _add_set(run)
    add_trust(run)
    _add_workspace(run)
    run.set_defaults(command=_run)

    resume = commands.add_parser("resume", help="go on with a run")
    resume.add_argument(
        "target", metavar="RUN|CHECKPOINT_DIR", help="a run's id, name or folder, or one of its checkpoints"
    )
    resume.add_argument(
        "--dry-run", action="store_true", help="say what would be restored, changed and ignored, and train nothing"
    )
    # For programs that begin a run and hold the other end of its standard input: not for people.
    resume.add_argument("--while-held", action="store_true", help=argparse.SUPPRESS)
    _add_profile(resume)
    _add_set(resume)
    add_trust(resume)
    _add_workspace(resume)
    resume.set_defaults(command=_resume)

    check = commands.add_parser("check", help="look for problems without training")
    check.add_argument("config", metavar="CONFIG.toml", help=config_help)
    _add_set(check)
    add_trust(check)
    _add_workspace(check)
    check.set_defaults(command=_check)

    export = commands.add_parser("export", help="write a checkpoint's model for use elsewhere")
    export.add_argument("checkpoint", metavar="CHECKPOINT_DIR", help="a checkpoint, or a run (its best one)")
    export.add_argument("--to", required=True, choices=("safetensors", "onnx", "torch-export", "script"))
    export.add_argument("--out", required=True, type=Path, metavar="PATH")
    add_trust(export)
    _add_workspace(export)
    export.set_defaults(command=_export)

    add_generate(commands)
    add_lab(commands)
    add_presets(commands)

    runs = commands.add_parser("runs", help="list all runs")
    _add_workspace(runs)
    runs.set_defaults(command=_runs)

    show = commands.add_parser("show", help="tell everything about one run")
    show.add_argument("run", metavar="RUN")
    _add_workspace(show)
    show.set_defaults(command=_show)

    schema = commands.add_parser("schema", help="print the JSON Schema of configurations")
    schema.set_defaults(command=_schema)

    serve = commands.add_parser("serve")  # the window's engine process; not for people
    serve.set_defaults(command=_serve)
    return parser, commands.choices


def _add_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set", action="append", default=[], metavar="section.key=value", dest="overrides", help="change one setting"
    )


def _add_profile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--profile", action="store_true", help="measure where the time of the steps goes, and tell it at the end"
    )


def _add_workspace(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workspace", default=None, metavar="DIR", help="where runs live")
    parser.add_argument("--json", action="store_true", help="end stdout with one JSON object")


def _workspace(arguments: argparse.Namespace) -> Path:
    given: str | None = arguments.workspace
    return typed_path(given).absolute() if given else default_workspace()


def _load(arguments: argparse.Namespace) -> RunConfig:
    name: str = arguments.config
    if name.startswith("preset:"):
        arguments.overrides = with_teacher_found(arguments.overrides, _workspace(arguments), Path())
        return load_preset(name.removeprefix("preset:"), arguments.overrides, arguments.trust)
    data = read_toml(read_config_text(Path(name)), name)
    arguments.overrides = with_teacher_found(arguments.overrides, _workspace(arguments), Path(name).parent, data)
    overrides = [*arguments.overrides, *trust_file(Path(name), arguments.overrides, arguments.trust)]
    return load_config(Path(name), overrides)


def _print_json(record: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(_strict(record), allow_nan=False) + "\n")
    sys.stdout.flush()


def _strict(value: Any) -> Any:
    """``value`` without infinities and NaN, which JSON does not know: null stands for them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items()}
    return [_strict(item) for item in value] if isinstance(value, list | tuple) else value


def _shown(path: Any) -> str:
    """A path in one short line, whatever it holds."""
    return visible(str(path), 100)


def _run(arguments: argparse.Namespace) -> int:
    config, workspace = _load(arguments), _workspace(arguments)
    from training.engine.run import Hooks, start_run

    console = Console()
    hooks = Hooks(started=console.started, watch=console.event, flushed=console.flushed, profile=arguments.profile)
    _stop_on_signals(hooks)
    source = None if arguments.config.startswith("preset:") else Path(arguments.config)
    return _ended(arguments, start_run(config, workspace, hooks, source), console)


def _resume(arguments: argparse.Namespace) -> int:
    workspace = _workspace(arguments)
    folder, checkpoint = find_target(arguments.target, workspace)  # a wrong name is told before torch is loaded
    complete = "" if arguments.overrides else told_complete(folder, checkpoint)
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
    code = _ended(arguments, resume_run(arguments.target, workspace, arguments.overrides, hooks), console)
    if complete and not code:
        sys.stderr.write(f"{visible(complete)}\n")
    return code


def _dry_run(arguments: argparse.Namespace, workspace: Path) -> int:
    """Tell what a resume would do."""
    from training.engine.run import intend_resume

    intent = intend_resume(arguments.target, workspace, arguments.overrides)
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
        _print_json(told | {name: getattr(sheet, name, None) for name in names})
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
        console.profile(profile, _config_of(folder))
        told["profile"] = profile.model_dump() if profile else None
    if arguments.json:
        _print_json(told)
    return EXIT_CODES[record["status"]]


def _check(arguments: argparse.Namespace) -> int:
    config = _load(arguments)
    from training.doctor import preflight

    findings = preflight(config, _workspace(arguments))
    marks = {"ok": "ok     ", "info": "note   ", "warning": "warning", "error": "ERROR  "}
    for finding in findings:
        advice = f" {finding.advice}" if finding.advice else ""
        tried = f" Try {' '.join(f'--set {text}' for text in overrides_of(finding.fix))}." if finding.fix else ""
        sys.stderr.write(visible(f"{marks[finding.level]}  {finding.title}{advice}{tried}") + "\n")
    healthy = all(finding.level != "error" for finding in findings)
    if arguments.json:
        shown = [
            {"level": item.level, "title": item.title, "advice": item.advice, "fix": dict(item.fix)}
            for item in findings
        ]
        _print_json({"ok": healthy, "findings": shown})
    return 0 if healthy else 2


def _export(arguments: argparse.Namespace) -> int:
    from training.export import export_checkpoint

    checkpoint = find_checkpoint(arguments.checkpoint, _workspace(arguments))
    if arguments.trust:
        folder = RunFolder(checkpoint.absolute().parent.parent)
        if arguments.to == "script":
            trust_resume(folder, ())  # a teacher goes with it
        else:
            trust_run(folder)
    result = export_checkpoint(checkpoint, arguments.to, arguments.out)
    sys.stderr.write(f"{visible(result['summary'])}\n")
    if arguments.json:
        _print_json(result)
    return 0


def _runs(arguments: argparse.Namespace) -> int:
    from training.runs.index import Index

    index = Index(_workspace(arguments))
    records = index.runs()
    index.close()
    if arguments.json:
        _print_json({"runs": records})
    elif not records:
        sys.stdout.write(f"No runs in {_shown(_workspace(arguments))} yet.\n")
    else:
        sys.stdout.write("".join(f"{visible(line)}\n" for line in format_runs(records)))
    return 0


def _show(arguments: argparse.Namespace) -> int:
    from training.runs.evaluation import PARTS, read_evaluation
    from training.runs.history import History
    from training.runs.manifest import list_checkpoints

    folder = find_run(arguments.run, _workspace(arguments))
    record, checkpoints = folder.status(), list_checkpoints(folder)
    history = History(folder.events_file)
    events = last_attempt(history.poll())
    began = [event.environment for event in history.attempts if event.environment]
    facts, config = read_json(folder.environment_file), read_config_text(folder.config_file)
    profile = read_profile(folder)
    kept = {part: evaluation for part in PARTS if (evaluation := read_evaluation(folder, part))}
    if arguments.json:
        shown = shown_history(history, checkpoints, events)
        shown["profile"] = profile.model_dump() if profile else None
        shown["evaluation"] = {part: evaluation.model_dump() for part, evaluation in kept.items()}
        _print_json(record | shown | {"environment": began[-1] if began else facts, "config": config})
        return 0
    lines = [format_run(record), f"folder     {folder.path}", *format_origin(record)]
    lines += format_attempt(events, began[-1] if began else facts)
    lines += format_skips(history.skipped)
    lines += [f"{name:<12} {format_value(name, value)}" for name, value in record.get("metrics", {}).items()]
    lines += [line for part, evaluation in kept.items() for line in format_evaluation(part, evaluation)]
    lines += [format_checkpoint(info) for info in checkpoints]
    lines += format_profile(profile, _config_of(folder)) if profile else []
    sys.stdout.write("\n".join(visible(line) for line in lines) + "\n\n" + visible_lines(config))
    return 0


def _config_of(folder: RunFolder) -> RunConfig | None:
    try:
        return folder.config()
    except InputError:  # damaged: the profile is told without what depends on the settings
        return None


def _schema(_arguments: argparse.Namespace) -> int:
    sys.stdout.write(json.dumps(RunConfig.model_json_schema(), indent=2) + "\n")
    return 0


def _serve(_arguments: argparse.Namespace) -> int:
    from training.serve import serve_standard_streams

    return serve_standard_streams()
