"""What a run says in a terminal: one line that changes while it works, one line for each thing that happened."""

from __future__ import annotations

import io
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import JsonValue
from pydantic_core import to_jsonable_python

from training.catalog import metric
from training.config import RunConfig
from training.config.files import overrides_of
from training.data_report import DataReport
from training.errors import format_duration, pluralize
from training.events import (
    REACHED,
    STOPPED_EARLY,
    AttemptStarted,
    DataPrepared,
    EpochEnded,
    Event,
    Finding,
    PhaseChanged,
    Profiled,
    RateDropped,
    Validated,
)
from training.launch.torchrun import supervised_size
from training.live_line import LiveLine, Part
from training.runs.folder import DAMAGED, RunFolder
from training.runs.records.about import About, name_of
from training.runs.records.forms import StatusRecord
from training.runs.records.gpu_memory import describe_gpu_memory
from training.runs.records.gradients import clip_limit, count_clipped, format_clipped
from training.runs.records.history import read_history
from training.runs.records.progress import Progress, ProgressMeter
from training.runs.records.series import read_steps
from training.runs.resume_plan import ResumePlan
from training.runs.step_profile import PART_TITLES, Profile, advise, format_milliseconds, format_percent, summarize
from training.system.untrusted import escape_unprintable

REDRAW_SECONDS = 0.25
BAR_WIDTH = 40
_WIDEST = 10_000


class Console:
    """Prints a run's progress to stderr; on a terminal the last line is redrawn in place."""

    def __init__(self) -> None:
        self._live = LiveLine()
        self._last = 0.0
        self._parts: list[Part] = []  # of the line that changes, as it was drawn last
        self._started: AttemptStarted | None = None
        self._folder: RunFolder | None = None
        self._meter = ProgressMeter()
        self._epoch_told = 0  # the step of the last epoch's end that was told
        self._counted: list[Part] = []  # by early stopping, at the newest validation that counts
        self._validated: Validated | None = None  # at the end of an epoch, of which the rest is told next
        self._row: Any = None  # newest of telemetry
        self._dropped: RateDropped | None = None  # at the end of an epoch
        self._limit: float | None = None  # of the gradient norm
        self.profiled = False  # a profile was written by this attempt

    def keep_folder(self, folder: RunFolder) -> None:
        """The run folder exists; it is named once the run really begins."""
        self._folder = folder
        config = folder.readable_config()
        self._limit = clip_limit(config.loop) if config else None

    def print_plan(self, sheet: ResumePlan) -> None:
        """What is taken over is decided; told where settings were changed, and before anything is made."""
        if sheet.changed or sheet.ignored:
            for line in format_sheet(sheet):
                self._line(line)

    def event(self, event: Event) -> None:
        """Something rare happened."""
        self._meter.see_event(event)
        if isinstance(event, AttemptStarted):
            self._started = event
            self._validated, self._dropped, self._epoch_told = None, None, 0
            self._parts, self._counted = [], self._recall_counter(event)
            if self._folder is not None:
                self._line(f"run {self._folder.id} in {self._folder.path}")
            where = f"resumed at step {event.step:,}" if event.checkpoint else "started"
            note = f" ({event.device_note})" if event.device_note else ""
            steps = pluralize(event.steps_per_epoch, "step")
            count = supervised_size()
            shared = f", in {count} processes" if count > 1 else ""
            self._line(f"{where}: {_length(event)} of {steps} on {event.device}{note}{shared}")
        elif isinstance(event, DataPrepared):
            self._describe_data(event.report)
        elif (
            isinstance(event, Validated | RateDropped | EpochEnded)
            and self._started
            and event.step <= self._started.step
        ):
            return  # what a branch takes over from its parent
        elif isinstance(event, Validated):
            self._see_validation(event)
        elif isinstance(event, RateDropped):
            self._see_drop(event)
        elif isinstance(event, EpochEnded):
            self._print_epoch(event)
        elif isinstance(event, Finding):
            said = f"{event.level}: {event.title} {event.advice}".rstrip()
            self._line(said if event.cleared_at is None else f"no more since step {event.cleared_at:,}: {event.title}")
        elif isinstance(event, Profiled):
            self.profiled = True
        elif isinstance(event, PhaseChanged):
            share = "" if event.fraction is None else f" {event.fraction:.0%}"
            phase = [Part(f"{event.phase}{share}...")]
            if event.phase == "training" and self._parts:
                phase = []  # which the figures say
            self._live.draw([*self._parts, *self._counted, *phase])

    def clear(self) -> None:
        """Take the live line away, before others write."""
        self._live.clear()

    def draw_progress(self, row: Any, newest: Any) -> None:
        """A telemetry row arrived, and the newest step's; redraws the live line now and then."""
        self._row = row[-1]
        if not self._live.is_possible or self._started is None:
            return
        self._meter.see_rows(newest)
        self._meter.see_telemetry(row)
        if time.monotonic() - self._last < REDRAW_SECONDS:
            return
        self._last = time.monotonic()
        self._parts = _format_progress(self._meter.progress(), newest[-1])
        self._live.draw([*self._parts, *self._counted])

    def print_end(self, record: StatusRecord) -> None:
        """The run's last word."""
        self.clear()
        best, step = record.best, record.step
        loss = record.metrics.get("train/loss")
        begun = self._started
        last = begun is not None and begun.step < step == begun.total_steps and not begun.ends_epoch(step)
        if loss is not None and last:  # of an epoch that was not gone through
            self._print_parts(record.epoch + 1, step, [f"train/loss {loss:.4f}", *self._format_steps(step)])
        words = [f"{record.status} at step {step:,}"]
        if best:
            words.append(f"best {best.metric} {format_value(best.metric, best.value)} at step {best.step:,}")
        if record.samples_per_second:
            words.append(f"{record.samples_per_second:,.0f} samples/s")
        if self._row is not None and (memory := describe_gpu_memory(self._row)):
            words.append(f"GPU memory {memory}")
        self._line(", ".join(words))
        if record.reason and (record.status != "completed" or record.reason.startswith((STOPPED_EARLY, REACHED))):
            self._line(f"{record.reason} {record.advice or ''}".rstrip())
        if record.status == "stopped" or record.fix:
            known = record.last_checkpoint or record.fix
            on = "Go on with" if known else "No checkpoint was saved. Start over with"
            self._line(f"{on}: {resume_command(record.folder, record.fix)}")

    def profile(self, profile: Profile | None, config: RunConfig | None) -> None:
        """Where the time went; None where no step was measured."""
        for line in format_profile(profile, config) if profile else ["profile: no step was measured."]:
            self._line(line)

    def _see_validation(self, event: Validated) -> None:
        if event.stale is not None:
            self._counted = [Part(words, 3) for words in _format_counter(event)]
            if self._parts:
                self._live.draw([*self._parts, *self._counted])
        ends_epoch = self._started is not None and self._started.ends_epoch(event.step)
        if ends_epoch and self._epoch_told != event.step:
            self._validated = event  # its epoch's end is told next, in the same line
            return
        epoch = event.epoch + (not ends_epoch)  # the one that it is in the middle of
        self._print_parts(epoch, event.step, [*_format_metrics(event), *_format_verdict(event)])

    def _recall_counter(self, started: AttemptStarted) -> list[Part]:
        """Where early stopping's count stands in an attempt that goes on: the run's last validation that counted told it."""
        if self._folder is None or started.step == 0:
            return []
        history = read_history(self._folder.events_file)
        begun = history.attempts[0].step  # a branch does not go on with the count of what it branched from
        told = [
            event for event in history.validations if begun < event.step <= started.step and event.stale is not None
        ]
        return [Part(words, 3) for event in told[-1:] for words in _format_counter(event)]

    def _print_epoch(self, event: EpochEnded) -> None:
        """One line for the epoch: both losses, the metrics, the learning rate, and how often it was clipped."""
        measured, self._validated = self._validated, None
        self._epoch_told = event.step
        loss = [f"train/loss {event.metrics['train/loss']:.4f}"] if "train/loss" in event.metrics else []
        shown, verdict = list[str](), list[str]()
        if measured and measured.step == event.step:
            shown, verdict = _format_metrics(measured), _format_verdict(measured)
        self._print_parts(event.epoch, event.step, [*loss, *shown, *self._format_steps(event.step), *verdict])
        if self._dropped is not None:
            dropped, self._dropped = self._dropped, None
            self._see_drop(dropped)

    def _see_drop(self, event: RateDropped) -> None:
        if self._validated is not None:
            self._dropped = event  # told below its epoch, which is told next
            return
        ends_epoch = self._started is not None and self._started.ends_epoch(event.step)
        self._print_parts(event.epoch + (not ends_epoch), event.step, [f"lr {event.words}"])

    def _format_steps(self, step: int) -> list[str]:
        """What the steps of the epoch up to ``step`` tell."""
        if self._folder is None or self._started is None:
            return []
        first = (step - 1) // self._started.steps_per_epoch * self._started.steps_per_epoch + 1
        rows = read_steps(self._folder.series_file, first, step)
        told = [f"lr {rows['lr'][-1]:.3g}"] if len(rows) else []
        if self._limit is not None and (clipped := count_clipped(rows["grad_norm"], self._limit)).made:
            told.append(f"clipped {format_clipped(clipped)}")
        return told

    def _print_parts(self, epoch: int, step: int, parts: Sequence[str]) -> None:
        self._live.print([f"epoch {epoch:>3}", f"step {step:>7,}", *parts])

    def _describe_data(self, report: DataReport) -> None:
        parts = ", ".join(f"{count:,} {name}" for name, count in report.samples.items())
        self._line("; ".join([f"data: {parts}", *_count_targets(report), report.batches.reason]))
        for note in report.notes:
            self._line(f"note: {note}")

    def _line(self, text: str) -> None:
        self._live.print([text])


def _count_targets(report: DataReport) -> list[str]:
    """How many classes, labels or other targets there are, in the word for them."""
    count = report.class_count
    if report.target in ("class", "mask"):
        return ["1 class" if count == 1 else f"{count:,} classes"]
    if report.target == "tokens":
        return [f"a vocabulary of {count:,}"]
    return [] if report.target == "ranks" else [pluralize(count, "label" if report.target == "labels" else "target")]


def _format_progress(progress: Progress, row: Any) -> list[Part]:
    """The parts of the line that changes: all figures are of the step that it names."""
    parts = [
        Part(f"epoch {progress.epoch}/{progress.epochs}", 3),
        Part(f"step {progress.step:,}/{progress.total_steps:,}", 0),
        Part(f"loss {row['loss']:.4g}", 1),
        Part(f"grad norm {row['grad_norm']:.3g}", 4),
        Part(f"lr {row['lr']:.3g}", 5),
        Part(f"{progress.samples_per_second:,.0f} samples/s", 6),
    ]
    if progress.eta is not None:
        parts.append(Part(f"{format_duration(progress.eta)} left", 2))
    return parts


def _format_metrics(event: Validated) -> list[str]:
    return [f"{name} {format_value(name, value)}" for name, value in event.metrics.items()]


def _format_verdict(event: Validated) -> list[str]:
    """Whether they are the best so far, and early stopping's counter."""
    early = _format_counter(event)
    return ["best", *early] if event.improved else early


def _format_counter(event: Validated) -> list[str]:
    """Early stopping's, once a validation was no better."""
    return [f"{STOPPED_EARLY} {event.stale_words}"] if event.stale else []


def _length(started: AttemptStarted) -> str:
    """How long a run is, before the steps of an epoch."""
    if started.total_steps < started.epochs * started.steps_per_epoch:
        return f"{pluralize(started.total_steps, 'step')} (loop.max_steps) in epochs"
    return pluralize(started.epochs, "epoch")


def resume_command(folder: Any, fix: Mapping[str, JsonValue]) -> str:
    """What to type to go on with the run in ``folder``, in as many processes, with the settings of ``fix`` changed."""
    count = supervised_size()
    ranks = [f"--ranks {count}"] if count > 1 else []
    return " ".join(["python -m training resume", shlex.quote(str(folder)), *ranks, *_options_of(fix)])


def _options_of(fix: Mapping[str, JsonValue]) -> list[str]:
    """The settings of ``fix`` as they are typed in a shell: column names hold spaces."""
    return [f"--set {shlex.quote(override)}" for override in overrides_of(fix)]


def format_value(name: str, value: Any) -> str:
    """A metric as a person reads it: accuracy in percent, losses with four digits."""
    try:
        return metric(name).show(float(value))
    except (KeyError, ValueError):
        return f"{value:.4g}" if isinstance(value, float) else f"{value}"


def format_table(rows: Sequence[Sequence[str]], titles: Sequence[str]) -> str:
    """``rows`` in columns, those with a title at the right. On a terminal no wider than that; elsewhere a line for each row."""
    from rich.console import Console as Terminal  # late: most commands print no table
    from rich.table import Table
    from rich.text import Text

    live, text = sys.stdout.isatty(), io.StringIO()
    table = Table(box=None, show_header=any(titles), header_style=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in titles:
        table.add_column(Text(escape_unprintable(title)), justify="right" if title else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(escape_unprintable(cell)) for cell in row))
    Terminal(file=text, width=None if live else _WIDEST).print(table)
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


def format_runs(records: Sequence[StatusRecord], abouts: Mapping[str, About]) -> str:
    """One line for each run, in columns, with what is said of it."""
    rows = []
    for record in records:
        about = abouts.get(record.run, About())
        run, *more = _columns(record)
        marks = ("*" * about.star, *about.tags, "archived" * about.archived)
        rows.append((run, name_of(record, about), *more, " ".join(filter(None, marks))))
    return format_table(rows, ("",) * 7)


def format_run(record: StatusRecord) -> str:
    """One run in one line."""
    return "  ".join(cell for cell in _columns(record) if cell)


def _columns(record: StatusRecord) -> tuple[str, ...]:
    best, parent = record.best, record.parent
    of = f"/{record.total_steps:,}" if record.total_steps else ""
    return (
        record.run,
        record.status,
        f"step {record.step:,}{of}" if record.status != DAMAGED else "",
        f"{best.metric} {format_value(best.metric, best.value)}" if best else "",
        f"branch of {parent.run}" if parent and parent.run else "",
    )


def format_sheet(sheet: ResumePlan) -> list[str]:
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


def format_profile(profile: Profile, config: RunConfig | None) -> list[str]:
    """Where the time of the steps went: a line and a bar for each part, then what follows from it."""
    lines = [f"profile    {summarize(profile)}"]
    for part, seconds in profile.parts.items():
        mean, share = format_milliseconds(seconds / profile.steps), profile.share(part)
        bar = "#" * round(BAR_WIDTH * share)
        lines.append(f"  {PART_TITLES[part]:<18}  {mean:>10}  {format_percent(share):>6}  {bar}".rstrip())
    return lines + [f"  {format_finding(item)}" for item in advise(profile, config)]


def format_finding(found: Finding) -> str:
    """What was found, what to do, and the settings that do it."""
    tried = f"Try {' '.join(_options_of(found.fix))}." if found.fix else ""
    return " ".join(filter(None, (found.title, found.advice, tried)))


def pick(item: object, *names: str) -> dict[str, JsonValue]:
    """Attributes of ``item`` by their names, as JSON can hold them."""
    return {name: to_jsonable_python(getattr(item, name)) for name in names}
