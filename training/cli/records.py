"""``python -m training runs|show|schema``: what there is to be told of runs, and of their settings."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path

from pydantic import JsonValue

from training.cli.findings import record_run_findings
from training.cli.options import workspace_of
from training.cli.restore import format_set_aside, set_aside_records
from training.config import RunConfig
from training.console import (
    format_profile,
    format_run,
    format_table,
    format_value,
    pick,
)
from training.copies.account import describe_copy
from training.environment import Environment
from training.errors import InputError, format_bytes, format_moment, list_first, pluralize
from training.events import (
    FINAL_EVENTS,
    AttemptStarted,
    DataPrepared,
    EpochEnded,
    Event,
    Finding,
    PhaseChanged,
    StepSkipped,
    Validated,
)
from training.launch.telling import describe_launch, record_launch
from training.runs.folder import RunFolder
from training.runs.rank_looks import describe_ranks, look_at_ranks
from training.runs.records.columns import ColumnsReader
from training.runs.records.curves import save_curves, tabulate_curves
from training.runs.records.environment import newest_environment
from training.runs.records.evaluation import PARTS, Evaluation, read_evaluation
from training.runs.records.forms import StatusRecord
from training.runs.records.gpu_memory import describe_gpu_memory
from training.runs.records.gradients import ClippedSteps, count_run, format_clipped
from training.runs.records.history import History
from training.runs.records.layers import MEASURED, layer_norms, layers_of
from training.runs.records.manifest import CheckpointInfo, list_checkpoints
from training.runs.records.series import FLUSH_ROW, Rows, read_series
from training.runs.rewind import list_set_aside
from training.runs.step_profile import read_profile
from training.runs.workspace import find_run
from training.streams import print_json, write_out
from training.system.plain_table import Cell, format_csv, table_rows
from training.system.untrusted import escape_unprintable, visible_lines
from training.toml_text import read_config_text
from training.tracking.status import describe_trackers, record_trackers

SHOWN_SKIPS = 5
SHOWN_NAMES = 30
_VERSIONS = ("torch", "cuda", "cudnn", "driver", "python")


def show_run(arguments: argparse.Namespace) -> int:
    """Print all that is known of a run; returns the exit code."""
    if arguments.epochs and not (arguments.csv or arguments.parquet):
        raise InputError("--epochs belongs to --csv or --parquet; see python -m training show --help.")
    if arguments.json and (arguments.csv or arguments.parquet):
        asked = "--csv" if arguments.csv else "--parquet"
        raise InputError(f"{asked} and --json ask for different things; give one of them.")
    folder = find_run(arguments.run, workspace_of(arguments))
    history = History(folder.events_file)
    if arguments.csv or arguments.parquet:
        _write_curves(arguments, folder, history)
        return 0
    record, checkpoints = folder.status(), list_checkpoints(folder)
    lost = _lost_best(record)
    if lost and record.best:  # the record keeps the name, for when it comes back from the trash
        record = record.model_copy(update={"best": record.best.model_copy(update={"checkpoint": None})})
    events = _last_attempt(history.poll())
    environment = newest_environment(folder, history.attempts)
    config = read_config_text(folder.config_file)
    profile = read_profile(folder)
    clipped = count_run(folder, history)
    looks = read_series(folder.telemetry_file, FLUSH_ROW)
    kept = {part: evaluation for part in PARTS if (evaluation := read_evaluation(folder, part))}
    ranks = look_at_ranks(folder.path, history.attempts[-1].time) if history.attempts else ()
    if arguments.json:
        shown = _history_record(history, checkpoints, events)
        shown["parts"] = _newest_parts(folder)
        shown["layers"] = _newest_layers(folder)
        shown["profile"] = profile.model_dump() if profile else None
        shown["gpu_memory_mb"] = _gpu_memory_record(looks)
        shown["peak_memory_mb"] = float(looks["memory_mb"].max()) if len(looks) else None
        shown["ranks"] = [look.dump() for look in ranks]
        shown["clipped"] = _clipped_record(*clipped) if clipped else None
        shown["texts"] = [{"step": text.step, "epoch": text.epoch, "text": text.text} for text in history.texts]
        shown["set_aside"] = set_aside_records(folder)
        shown |= record_trackers(folder)
        shown["launch"] = record_launch(folder)
        shown["evaluation"] = {part: evaluation.model_dump() for part, evaluation in kept.items()}
        print_json(record.dump() | shown | {"environment": environment.record(), "config": config})
        return 0
    lines = [format_run(record), f"folder     {folder.path}", *_format_origin(record)]
    lines += _format_attempt(events, environment) if events else _format_reason(record)
    lines += _format_skips(history.skipped)
    if len(looks):
        lines.append(f"memory     {format_bytes(float(looks['memory_mb'].max()) * 2**20)} at the most")
    if len(looks) and (memory := describe_gpu_memory(looks[-1])):
        lines.append(f"GPU memory {memory}")
    lines += describe_ranks(ranks)
    if clipped is not None and clipped[1].made:
        lines.append(_format_clipped_steps(*clipped))
    lines += _format_metrics(record, history)
    lines += [line for part, evaluation in kept.items() for line in _format_evaluation(part, evaluation).splitlines()]
    lines += [f"text at step {text.step:,}: {text.text!r}" for text in history.texts[-1:]]
    lines += [_format_checkpoint(info) for info in checkpoints]
    if lost:
        lines.append(f"checkpoint {lost}  deleted  [best]")
    lines += [*describe_trackers(folder), *describe_copy(folder), *describe_launch(folder)]
    lines += [format_set_aside(item) for item in list_set_aside(folder)]
    if profile is not None:
        lines += format_profile(profile, folder.readable_config())
    elif folder.profile_file.is_file():
        lines.append("profile    of an earlier version, which is not shown; resume with --profile takes another")
    write_out("\n".join(escape_unprintable(line) for line in lines) + "\n\n" + visible_lines(config))
    return 0


def _lost_best(record: StatusRecord) -> str:
    """The name of the best checkpoint where its folder is gone, as in the trash; "" where it is there or none was saved."""
    place = Path(record.best.checkpoint) if record.best and record.best.checkpoint else None
    return place.name if place is not None and not place.is_dir() else ""


def _write_curves(arguments: argparse.Namespace, folder: RunFolder, history: History) -> None:
    """The curves as CSV to standard output, as a file, or both."""
    if arguments.parquet:
        if arguments.parquet.suffix.lower() != ".parquet":
            raise InputError(f"--parquet {arguments.parquet}: the name has to end in .parquet.")
        try:
            save_curves(arguments.parquet, folder, arguments.epochs)
        except OSError as error:
            raise InputError(
                f"{arguments.parquet}: cannot be written ({error.strerror or error}); choose another place."
            ) from error
    history.poll()
    for number, table in enumerate(tabulate_curves(folder, history, arguments.epochs) if arguments.csv else ()):
        head: list[Sequence[Cell]] = [] if number else [tuple(table)]
        write_out(format_csv([*head, *table_rows(table)]))


def _newest_parts(folder: RunFolder) -> JsonValue:
    """Of a combined loss, at the newest step there is; None for one without parts."""
    reader = ColumnsReader(folder.parts_file)
    rows, columns = reader.read()[1], reader.columns
    if columns is None or not len(rows):
        return None
    parts = zip(columns.names, columns.shares, rows["values"][-1].tolist(), strict=False)
    named: dict[str, JsonValue] = {name: {"share": share, "value": _finite(value)} for name, share, value in parts}
    return {"step": int(rows["step"][-1]), "values": named}


def _newest_layers(folder: RunFolder) -> JsonValue:
    """The norms of each layer at the newest step they were taken of; None where there are none."""
    reader = ColumnsReader(folder.layers_file)
    rows, columns = reader.read()[1][-1:], reader.columns
    if columns is None or not len(rows):
        return None
    norms = {quantity: layer_norms(rows, quantity)[0].tolist() for quantity in (*MEASURED, "ratio")}
    named: dict[str, JsonValue] = {
        layer: {quantity: _finite(values[place]) for quantity, values in norms.items()}
        for place, layer in enumerate(layers_of(columns))
    }
    return {"step": int(rows["step"][0]), "norms": named}


def _finite(value: float) -> float | None:
    """JSON has no other numbers."""
    return value if math.isfinite(value) else None


def _format_origin(record: StatusRecord) -> list[str]:
    """When and from what a run was made."""
    lines = [f"created    {format_moment(record.created)}"]
    parent = record.parent
    if parent is not None and parent.run:
        lines.append(f"branch of  {parent.run}, {Path(parent.checkpoint or 'from the start').name}")
    return lines


def _format_reason(record: StatusRecord) -> list[str]:
    """Why a run that has not begun is where it is."""
    return [f"reason     {record.reason} {record.advice or ''}".rstrip()] if record.reason else []


def _format_metrics(record: StatusRecord, history: History) -> list[str]:
    """The newest value of each metric, and the step that it was measured at."""
    steps: dict[str, int] = {}
    measured: list[EpochEnded | Validated] = [*history.epochs, *history.validations]
    for item in sorted(measured, key=lambda item: item.step):
        steps |= {name: item.step for name, value in item.metrics.items() if record.metrics.get(name) == value}
    return [
        f"{name:<12} {format_value(name, value)}" + (f" at step {steps[name]:,}" if name in steps else "")
        for name, value in record.metrics.items()
    ]


def _format_attempt(events: Sequence[Event], environment: Environment) -> list[str]:
    """The newest stretch of work: when, on what, what was found, and why it ended."""
    lines = []
    for event in events:
        if isinstance(event, AttemptStarted):
            changes = f", with {'; '.join(event.changes)}" if event.changes else ""
            lines.append(f"attempt    {event.attempt}, {format_moment(event.time)}, from step {event.step:,}{changes}")
            lines += _format_environment(environment)
    for event in events:
        if isinstance(event, Finding):
            lines.append(f"{event.level:<10} {event.title} {event.advice}".rstrip())
        elif isinstance(event, FINAL_EVENTS):
            why = " ".join(text for name in ("reason", "advice") if (text := str(getattr(event, name, "") or "")))
            lines.append(f"ended      {format_moment(event.time)}, {event.kind}{f': {why}' if why else ''}")
    return lines


def _format_environment(now: Environment) -> list[str]:
    if not now.model_fields_set:
        return []
    machine = ", ".join(filter(None, (now.host, now.processor, now.instructions)))
    versions = [f"{name} {found}" for name in _VERSIONS if (found := getattr(now, name))]
    threads = "an unknown number of threads" if now.threads is None else pluralize(now.threads, "thread")
    lines = [
        f"ran on     {now.device} with {threads} ({machine})",
        f"with       Trainwright {now.trainwright}, {', '.join(versions)}",
    ]
    has = [f"GPUs: {', '.join(now.device_names)}"] if now.device_names else []
    has += [f"{format_bytes(now.shm_mb * 2**20)} of /dev/shm"] if now.shm_mb is not None else []
    has += ["a list of its packages (python -m training lock)"] if now.packages else []
    if has:
        lines.append(f"has        {'; '.join(has)}")
    if now.seeds:
        lines.append(f"seeds      {', '.join(f'{name} {value}' for name, value in now.seeds.items())}")
    if now.data:
        lines.append(f"data       fingerprint {now.data}")
    if now.variables:
        lines.append(f"variables  {', '.join(f'{name}={value}' for name, value in now.variables.items())}")
    for name, state in now.code.items():
        if state.commit:
            dirty = ", with changes that are not committed" if state.dirty else ""
            lines.append(f"code       {name} at commit {state.commit}{dirty}")
    return lines


def _last_attempt(events: Sequence[Event]) -> list[Event]:
    """The events of the newest stretch of work, from the preparing of its data on."""
    starts = [index for index, event in enumerate(events) if isinstance(event, AttemptStarted)]
    if not starts:
        return list(events)
    first = starts[-1]
    while first and isinstance(events[first - 1], Finding | PhaseChanged | DataPrepared):
        first -= 1
    return list(events[first:])


def _history_record(
    history: History, checkpoints: Sequence[CheckpointInfo], events: Sequence[Event]
) -> dict[str, JsonValue]:
    """What happened in a run, as JSON can hold it; ``events`` are its last attempt's."""
    found = [item for item in events if isinstance(item, Finding)]
    return {
        "checkpoints": [pick(info, "path", "step", "epoch", "labels", "metrics") for info in checkpoints],
        "validations": [pick(item, "step", "epoch") | dict(item.metrics) for item in history.validations],
        "findings": record_run_findings(found),
        "attempts": [
            pick(item, "attempt", "time", "step", "device", "changes") | {"environment": item.environment.record()}
            for item in history.attempts
        ],
        "rate_drops": [pick(item, "step", "epoch", "before", "after", "metric") for item in history.drops],
        "skipped": [pick(item, "step", "epoch", "samples", "names") for item in history.skipped],
    }


def _format_evaluation(part: str, evaluation: Evaluation) -> str:
    """A line for each class, label or value with its metrics and the class it was taken for most often."""
    rows, matrix = [], evaluation.confusion
    for number, name in enumerate(evaluation.names[:SHOWN_NAMES]):
        cells = (
            "-" if figures[number] is None else format_value(metric, figures[number])
            for metric, figures in evaluation.each.items()
        )
        wrong = [0 if other == number else count for other, count in enumerate(matrix[number])] if matrix else [0]
        taken = f"{max(wrong):,} confused with {evaluation.names[wrong.index(max(wrong))]}" if any(wrong) else ""
        rows.append((f"  {name}", *cells, taken))
    more = len(evaluation.names) - len(rows)
    table = format_table(rows, ("", *evaluation.each, ""))
    return f"{part} at step {evaluation.step:,}\n{table}" + f"  and {more:,} more\n" * (more > 0)


def _format_skips(skipped: Sequence[StepSkipped]) -> list[str]:
    """The last few skipped steps with some of their samples."""
    lines = []
    for event in skipped[-SHOWN_SKIPS:]:
        named = list_first(event.names, len(event.samples))
        lines.append(f"skipped    step {event.step:,} with {named}: its gradient was not finite")
    return lines


def _gpu_memory_record(looks: Rows) -> dict[str, JsonValue] | None:
    """At the newest look; None on other devices, and for what an earlier version did not measure."""
    if not len(looks) or not looks["gpu_memory_mb"][-1] > 0:
        return None
    columns = {"allocated": "gpu_allocated_mb", "reserved": "gpu_memory_mb", "peak": "gpu_peak_mb"}
    figures = {name: float(looks[column][-1]) for name, column in columns.items()}
    return {name: value if math.isfinite(value) else None for name, value in figures.items()}


def _clipped_record(limit: float, steps: ClippedSteps) -> dict[str, JsonValue]:
    return {"clip_norm": limit, "share": steps.share} | pick(steps, "clipped", "made", "skipped")


def _format_clipped_steps(limit: float, steps: ClippedSteps) -> str:
    """How often the gradient was clipped."""
    skipped = f"; {steps.skipped:,} skipped" if steps.skipped else ""
    return f"clipped    {format_clipped(steps)} of {pluralize(steps.made, 'step')} (gradient norm above {limit:g}){skipped}"


def _format_checkpoint(info: CheckpointInfo) -> str:
    """One checkpoint in one line."""
    labels = f"  [{', '.join(info.labels)}]" if info.labels else ""
    return f"checkpoint {info.name}  epoch {info.epoch}  {format_bytes(info.size)}{labels}"


def print_schema(_arguments: argparse.Namespace) -> int:
    """Print the JSON Schema of configurations; returns the exit code."""
    write_out(json.dumps(RunConfig.model_json_schema(), indent=2) + "\n")
    return 0
