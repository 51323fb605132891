"""``python -m training runs|show|schema``: what there is to be told of runs, and of their settings."""

from __future__ import annotations

import argparse
import json

from training.cli.options import workspace_of
from training.cli.restore import set_aside_records
from training.config import RunConfig
from training.console import (
    format_attempt,
    format_checkpoint,
    format_evaluation,
    format_origin,
    format_profile,
    format_run,
    format_runs,
    format_set_aside,
    format_skips,
    format_value,
    last_attempt,
    shown_history,
)
from training.reading import visible, visible_lines
from training.runs.folder import read_json
from training.runs.profile_record import read_profile
from training.runs.rewind import list_set_aside
from training.runs.workspace import find_run
from training.streams import print_json, write_out
from training.toml_text import read_config_text


def list_runs(arguments: argparse.Namespace) -> int:
    """Print a line, or a record, for each run; returns the exit code."""
    from training.runs.index import Index

    index = Index(workspace_of(arguments))
    records = index.runs()
    index.close()
    if arguments.json:
        print_json({"runs": records})
    elif not records:
        write_out(f"No runs in {visible(str(workspace_of(arguments)), 100)} yet.\n")
    else:
        write_out("".join(f"{visible(line)}\n" for line in format_runs(records)))
    return 0


def show_run(arguments: argparse.Namespace) -> int:
    """Print all that is known of a run; returns the exit code."""
    from training.runs.evaluation import PARTS, read_evaluation
    from training.runs.history import History
    from training.runs.manifest import list_checkpoints

    folder = find_run(arguments.run, workspace_of(arguments))
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
        shown["set_aside"] = set_aside_records(folder)
        shown["evaluation"] = {part: evaluation.model_dump() for part, evaluation in kept.items()}
        print_json(record | shown | {"environment": began[-1] if began else facts, "config": config})
        return 0
    lines = [format_run(record), f"folder     {folder.path}", *format_origin(record)]
    lines += format_attempt(events, began[-1] if began else facts)
    lines += format_skips(history.skipped)
    lines += [f"{name:<12} {format_value(name, value)}" for name, value in record.get("metrics", {}).items()]
    lines += [line for part, evaluation in kept.items() for line in format_evaluation(part, evaluation)]
    lines += [format_checkpoint(info) for info in checkpoints]
    lines += [format_set_aside(item) for item in list_set_aside(folder)]
    lines += format_profile(profile, folder.readable_config()) if profile else []
    write_out("\n".join(visible(line) for line in lines) + "\n\n" + visible_lines(config))
    return 0


def print_schema(_arguments: argparse.Namespace) -> int:
    """Print the JSON Schema of configurations; returns the exit code."""
    write_out(json.dumps(RunConfig.model_json_schema(), indent=2) + "\n")
    return 0
