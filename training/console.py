"""What a run says in a terminal: one line that changes while it works, one line for each thing that happened."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from training.catalog import metric
from training.config import RunConfig
from training.config.files import overrides_of
from training.config.sheet import Sheet
from training.errors import counted, in_words
from training.events import (
    FINAL_EVENTS,
    AttemptStarted,
    DataPrepared,
    EpochEnded,
    Event,
    Found,
    PhaseChanged,
    Profiled,
    StepSkipped,
    Validated,
)
from training.reading import visible
from training.runs.folder import RunFolder
from training.runs.manifest import CheckpointInfo
from training.runs.profile_record import Profile
from training.runs.profile_words import conclusions, milliseconds, percent, step_table, summary
from training.streams import write_error

if TYPE_CHECKING:
    from training.runs.evaluation import Evaluation
    from training.runs.history import History
    from training.runs.rewind import SetAside

REDRAW_SECONDS = 0.25
SHOWN_SKIPS = 5
SHOWN_NAMES = 30
BAR_WIDTH = 40


class Console:
    """Prints a run's progress to stderr; on a terminal the last line is redrawn in place."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._drawn = 0
        self._last = 0.0
        self._started: AttemptStarted | None = None
        self._folder: RunFolder | None = None
        self.profiled = False  # a profile was written by this attempt

    def started(self, folder: RunFolder) -> None:
        """The run folder exists; it is named once the run really begins."""
        self._folder = folder

    def planned(self, sheet: Sheet) -> None:
        """What is taken over is decided; told where settings were changed, and before anything is made."""
        if sheet.changed or sheet.ignored:
            for line in format_sheet(sheet):
                self._line(line)

    def event(self, event: Event) -> None:
        """Something rare happened."""
        if isinstance(event, AttemptStarted):
            self._started = event
            if self._folder is not None:
                self._line(f"run {self._folder.id} in {self._folder.path}")
            where = f"resumed at step {event.step:,}" if event.checkpoint else "started"
            self._line(f"{where}: {_length(event)} of {counted(event.steps_per_epoch, 'step')} on {event.device}")
        elif isinstance(event, DataPrepared):
            self._describe_data(event.report)
        elif isinstance(event, Validated):
            shown = "  ".join(f"{name} {format_value(name, value)}" for name, value in event.metrics.items())
            within = self._started is None or not self._started.ends_epoch(event.step)
            epoch = event.epoch + within  # the one that it is in the middle of
            self._line(f"epoch {epoch:>3}  step {event.step:>7,}  {shown}{'  best' if event.improved else ''}")
        elif isinstance(event, EpochEnded):
            if "train/loss" in event.metrics:
                self._line(
                    f"epoch {event.epoch:>3}  step {event.step:>7,}  train/loss {event.metrics['train/loss']:.4f}"
                )
        elif isinstance(event, Found):
            self._line(f"{event.level}: {event.title} {event.advice}".rstrip())
        elif isinstance(event, Profiled):
            self.profiled = True
        elif isinstance(event, PhaseChanged) and self._live:
            share = "" if event.fraction is None else f" {event.fraction:.0%}"
            self._draw(f"{event.phase}{share}...")

    def clear(self) -> None:
        """Take the live line away, before others write."""
        if self._drawn:
            write_error("\r" + " " * self._drawn + "\r")
            self._drawn = 0

    def flushed(self, row: Any) -> None:
        """A telemetry row arrived; redraws the live line now and then."""
        if not self._live or self._started is None or time.monotonic() - self._last < REDRAW_SECONDS:
            return
        self._last = time.monotonic()
        step, total, rate = int(row["step"]), self._started.total_steps, float(row["samples_per_second"])
        self._draw(f"step {step:,} of {total:,} ({step / total:.0%})  {rate:,.0f} samples/s")

    def ended(self, record: Mapping[str, Any]) -> None:
        """The run's last word."""
        best, step = record.get("best"), record["step"]
        loss = (record.get("metrics") or {}).get("train/loss")
        begun = self._started
        last = begun is not None and begun.step < step == begun.total_steps and not begun.ends_epoch(step)
        if loss is not None and last:  # of an epoch that was not gone through
            self._line(f"epoch {record['epoch'] + 1:>3}  step {step:>7,}  train/loss {loss:.4f}")
        words = [f"{record['status']} at step {record['step']:,}"]
        if best:
            words.append(
                f"best {best['metric']} {format_value(best['metric'], best['value'])} at step {best['step']:,}"
            )
        if record.get("samples_per_second"):
            words.append(f"{record['samples_per_second']:,.0f} samples/s")
        self._line(", ".join(words))
        if record["status"] != "completed" and record.get("reason"):
            self._line(f"{record['reason']} {record.get('advice') or ''}".rstrip())
        if record["status"] == "stopped" or record.get("fix"):
            known = record.get("last_checkpoint") or record.get("fix")
            on = "Go on with" if known else "No checkpoint was saved. Start over with"
            self._line(f"{on}: {resume_command(record['folder'], record.get('fix') or {})}")

    def profile(self, profile: Profile | None, config: RunConfig | None) -> None:
        """Where the time went; None where no step was measured."""
        for line in format_profile(profile, config) if profile else ["profile: no step was measured."]:
            self._line(line)

    def _describe_data(self, report: Mapping[str, Any]) -> None:
        parts = ", ".join(f"{count:,} {name}" for name, count in report["samples"].items())
        classes = report.get("class_count", len(report["classes"]))
        self._line(f"data: {parts}; {classes:,} classes; {report['batches']['reason']}")
        for note in report.get("notes", ()):
            self._line(f"note: {note}")

    def _line(self, text: str) -> None:
        clear = "\r" + " " * self._drawn + "\r" if self._drawn else ""
        self._drawn = 0
        write_error(f"{clear}{visible(text)}\n")  # names in it may be a stranger's

    def _draw(self, text: str) -> None:
        text = visible(text)
        write_error("\r" + text.ljust(self._drawn))
        self._drawn = len(text)


def _length(started: AttemptStarted) -> str:
    """How long a run is, before the steps of an epoch."""
    if started.total_steps < started.epochs * started.steps_per_epoch:
        return f"{counted(started.total_steps, 'step')} (loop.max_steps) in epochs"
    return counted(started.epochs, "epoch")


def resume_command(folder: Any, fix: Mapping[str, Any]) -> str:
    """What to type to go on with the run in ``folder``, with the settings of ``fix`` changed."""
    changes = [f"--set {shlex.quote(override)}" for override in overrides_of(fix)]
    return " ".join(["python -m training resume", shlex.quote(str(folder)), *changes])


def format_value(name: str, value: Any) -> str:
    """A metric as a person reads it: accuracy in percent, losses with four digits."""
    try:
        return metric(name).show(float(value))
    except (KeyError, ValueError):
        return f"{value}"


def format_runs(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line for each run, in columns."""
    rows = [_columns(record) for record in records]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def format_run(record: Mapping[str, Any]) -> str:
    """One run in one line."""
    return "  ".join(cell for cell in _columns(record) if cell)


def _columns(record: Mapping[str, Any]) -> tuple[str, ...]:
    best, parent = record.get("best"), record.get("parent")
    of = f"/{record['total_steps']:,}" if record.get("total_steps") else ""
    return (
        str(record.get("run", "")),
        str(record.get("status", "")),
        f"step {record.get('step', 0):,}{of}",
        f"{best['metric']} {format_value(best['metric'], best['value'])}" if best else "",
        f"branch of {parent['run']}" if isinstance(parent, Mapping) and parent.get("run") else "",
    )


def format_sheet(sheet: Sheet) -> list[str]:
    """What a resume or a branch takes over, a line for each thing."""
    if sheet.same_run:
        heading = "The same run goes on."
    elif sheet.continues:
        heading = "A new run branches off and goes on where the checkpoint stands."
    else:
        heading = "A new run begins at step 0 with what the checkpoint holds."
    parts = (
        ("restored", sheet.restored),
        ("changed", sheet.changed),
        ("ignored", sheet.ignored),
        ("note", sheet.notes),
    )
    return [heading, *(f"  {name:<9} {text}" for name, texts in parts for text in texts)]


def format_origin(record: Mapping[str, Any]) -> list[str]:
    """When and from what a run was made."""
    lines = [f"created    {_moment(record.get('created'))}"]
    parent = record.get("parent")
    if isinstance(parent, Mapping) and parent.get("run"):
        lines.append(f"branch of  {parent['run']}, {Path(str(parent.get('checkpoint') or 'from the start')).name}")
    return lines


def format_attempt(events: Sequence[Event], facts: Mapping[str, Any]) -> list[str]:
    """The newest stretch of work: when, on what, what was found, and why it ended."""
    lines = []
    for event in events:
        if isinstance(event, AttemptStarted):
            changes = f", with {'; '.join(event.changes)}" if event.changes else ""
            lines.append(f"attempt    {event.attempt}, {_moment(event.time)}, from step {event.step:,}{changes}")
            lines += _format_environment(facts)
    for event in events:
        if isinstance(event, Found):
            lines.append(f"{event.level:<10} {event.title} {event.advice}".rstrip())
        elif isinstance(event, FINAL_EVENTS):
            why = " ".join(text for name in ("reason", "advice") if (text := str(getattr(event, name, "") or "")))
            lines.append(f"ended      {_moment(event.time)}, {event.kind}{f': {why}' if why else ''}")
    return lines


def format_profile(profile: Profile, config: RunConfig | None) -> list[str]:
    """Where the time of the steps went: a line and a bar for each part, then what follows from it."""
    table = step_table(profile)
    wide = max((len(title) for title, _, _ in table), default=0)
    lines = [f"profile    {summary(profile)}"]
    for title, mean, share in table:
        bar = "#" * round(BAR_WIDTH * share)
        lines.append(f"  {title:<{wide}}  {milliseconds(mean):>10}  {percent(share):>6}  {bar}".rstrip())
    for item in conclusions(profile, config):
        tried = f" Try {' '.join(f'--set {text}' for text in overrides_of(item.fix))}." if item.fix else ""
        lines.append(f"  {item.title} {item.advice}".rstrip() + tried)
    return lines


def shown_history(history: History, checkpoints: Sequence[CheckpointInfo], events: Sequence[Event]) -> dict[str, Any]:
    """What happened in a run, as JSON can hold it; ``events`` are its last attempt's."""
    listed = [
        {
            "path": str(info.path),
            "step": info.step,
            "epoch": info.epoch,
            "labels": info.labels,
            "metrics": info.metrics,
        }
        for info in checkpoints
    ]
    findings = [
        {"level": item.level, "title": item.title, "advice": item.advice, "step": item.step, "fix": dict(item.fix)}
        for item in events
        if isinstance(item, Found)
    ]
    attempts = [
        {
            "attempt": item.attempt,
            "time": item.time,
            "step": item.step,
            "device": item.device,
            "changes": list(item.changes),
            "environment": dict(item.environment),
        }
        for item in history.attempts
    ]
    skipped = [
        {"step": item.step, "epoch": item.epoch, "samples": item.samples, "names": item.names}
        for item in history.skipped
    ]
    validations = [{"step": item.step, "epoch": item.epoch, **item.metrics} for item in history.validations]
    shown = {"checkpoints": listed, "validations": validations, "findings": findings, "attempts": attempts}
    return shown | {"skipped": skipped}


def format_evaluation(part: str, evaluation: Evaluation) -> list[str]:
    """A line for each class, label or value with its metrics and the class it was taken for most often."""
    names, matrix = evaluation.names[:SHOWN_NAMES], evaluation.confusion
    wide = max(len(name) for name in (*names, ""))
    widths = {name: max(len(name), 6) for name in evaluation.each}
    titles = "  ".join(f"{name:>{width}}" for name, width in widths.items())
    lines = [f"{part} at step {evaluation.step:,}", f"  {'':<{wide}}  {titles}".rstrip()]
    for number, name in enumerate(names):
        cells = ((numbers[number], widths[metric]) for metric, numbers in evaluation.each.items())
        shown = "  ".join(f"{'-' if value is None else format(value, '.4g'):>{width}}" for value, width in cells)
        wrong = [0 if other == number else count for other, count in enumerate(matrix[number])] if matrix else [0]
        taken = f"  {max(wrong):,} taken for {evaluation.names[wrong.index(max(wrong))]}" if any(wrong) else ""
        lines.append(f"  {name:<{wide}}  {shown}{taken}")
    more = len(evaluation.names) - len(names)
    return [*lines, f"  and {more:,} more"] if more else lines


def format_skips(skipped: Sequence[StepSkipped]) -> list[str]:
    """The last few skipped steps with some of their samples."""
    lines = []
    for event in skipped[-SHOWN_SKIPS:]:
        more = len(event.samples) - len(event.names)
        rest = f" and {more:,} more" if more > 0 else ""
        lines.append(f"skipped    step {event.step:,} with {', '.join(event.names)}{rest}: its gradient was not finite")
    return lines


def _format_environment(facts: Mapping[str, Any]) -> list[str]:
    if not facts:
        return []
    machine = ", ".join(str(facts[name]) for name in ("host", "processor", "instructions") if facts.get(name))
    versions = [f"{name} {facts[name]}" for name in ("torch", "cuda", "cudnn", "driver", "python") if facts.get(name)]
    seeds, variables, number = facts.get("seeds"), facts.get("variables"), facts.get("threads")
    threads = counted(number, "thread") if isinstance(number, int) else "an unknown number of threads"
    lines = [
        f"ran on     {facts.get('device')} with {threads} ({machine})",
        f"with       Trainwright {facts.get('trainwright')}, {', '.join(versions)}",
    ]
    if isinstance(seeds, Mapping):
        lines.append(f"seeds      {', '.join(f'{name} {value}' for name, value in seeds.items())}")
    if facts.get("data"):
        lines.append(f"data       fingerprint {facts['data']}")
    if isinstance(variables, Mapping) and variables:
        lines.append(f"variables  {', '.join(f'{name}={value}' for name, value in variables.items())}")
    code = facts.get("code")
    for name, state in code.items() if isinstance(code, Mapping) else ():
        if isinstance(state, Mapping) and state.get("commit"):
            dirty = ", with changes that are not committed" if state.get("dirty") else ""
            lines.append(f"code       {name} at commit {state['commit']}{dirty}")
    return lines


def last_attempt(events: Sequence[Event]) -> list[Event]:
    """The events of the newest stretch of work, from the preparing of its data on."""
    starts = [index for index, event in enumerate(events) if isinstance(event, AttemptStarted)]
    if not starts:
        return list(events)
    first = starts[-1]
    while first and isinstance(events[first - 1], Found | PhaseChanged | DataPrepared):
        first -= 1
    return list(events[first:])


def _moment(seconds: Any) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(float(seconds or 0.0)))
    except (TypeError, ValueError, OverflowError, OSError):  # a file that somebody else wrote
        return "at no possible time"


def format_set_aside(aside: SetAside) -> str:
    """What a rewind set aside, in one line."""
    steps = f"steps {aside.step + 1:,} to {aside.reached:,}"
    return f"set aside  {aside.name}  {steps}  {in_words(aside.size)}  {_moment(aside.time)}"


def format_checkpoint(info: CheckpointInfo) -> str:
    """One checkpoint in one line."""
    labels = f"  [{', '.join(info.labels)}]" if info.labels else ""
    return f"checkpoint {info.name}  epoch {info.epoch}  {info.size / 2**20:.1f} MB{labels}"
