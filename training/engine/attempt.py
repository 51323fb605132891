"""One attempt at a run, from claiming its folder to its one final event."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from training.atomic import write_text
from training.checkpoints import Keeper
from training.config import RunConfig
from training.config.engine import Loop
from training.control import Control
from training.engine.assemble import assemble
from training.engine.device import describe_device, ran_out_of_memory
from training.engine.environment import environment
from training.engine.fit import fit
from training.engine.ledger import Ledger
from training.engine.record import Recorder
from training.engine.restore import Branch, Restore, Resume, check_data, save_splits
from training.engine.session import Session
from training.engine.status import StatusBook
from training.errors import InputError, TrainingError, counted
from training.events import AttemptStarted, Completed, DataPrepared, Event, Failed, Found, PhaseChanged, Stopped
from training.runs.folder import RunFolder, claim, delete_run, read_json, release
from training.runs.history import EventLog, read_history
from training.runs.index import index_run

logger = logging.getLogger(__name__)

SHOWN_LEFT_OUT = 20

Watch = Callable[[Event], None]
Emit = Callable[[Event], None]


class StopRequested(Exception):
    """The person asked for a stop while the data was still being prepared."""


@dataclass
class Hooks:
    """Who is told what: ``started`` the run folder, ``watch`` every event, ``flushed`` each telemetry row."""

    started: Callable[[RunFolder], None] = lambda folder: None
    watch: Watch = lambda event: None
    flushed: Callable[[Any], None] = lambda row: None
    control: Control = field(default_factory=Control)


def work_on(folder: RunFolder, config: RunConfig, hooks: Hooks, restore: Restore | None, new: bool) -> dict[str, Any]:
    """Train in ``folder`` until done or stopped; returns the run's status record.

    Raises InputError when the work cannot begin: a ``new`` folder is then removed, an old one is left what it was.
    """
    claim(folder)
    log = EventLog(folder.events_file)
    handler = _log_to(folder)
    book = StatusBook(folder)
    before = {key: book.record.get(key) for key in ("status", "reason", "advice", "ended", "step")}

    def emit(event: Event) -> None:
        log.emit(event)
        book.note(event)
        hooks.watch(event)

    try:
        hooks.started(folder)
        hooks.control.watch(folder.path)
        book.write(status="running", reason=None, advice=None)
        index_run(folder)
        session = _prepare(folder, config, restore, hooks.control, emit)
    except StopRequested:
        emit(Stopped(step=int(before["step"] or 0)))
        _close(folder, log, handler)
        return book.record
    except BaseException as error:
        failed: Failed | None = None
        if isinstance(error, Exception) and not isinstance(error, InputError):
            logger.error("The run could not begin", exc_info=error)
            failed = _failed(error, 0, config.loop)
            emit(failed)
        elif not new:
            book.write(**before)  # refused: the run is what it was
        _close(folder, log, handler)
        if new and failed is None:
            delete_run(folder)
        if failed is None:
            raise
        raise TrainingError(failed.reason, failed.advice) from error
    try:
        book.session = session
        _work(folder, session, restore, hooks, book, emit)
    finally:
        session.data.close()
        _close(folder, log, handler)
    return book.record


def _close(folder: RunFolder, log: EventLog, handler: logging.Handler) -> None:
    log.close()
    logging.getLogger("training").removeHandler(handler)
    handler.close()
    release(folder)
    index_run(folder)


def _prepare(folder: RunFolder, config: RunConfig, restore: Restore | None, control: Control, emit: Emit) -> Session:
    def report(phase: str, fraction: float | None) -> None:
        control.poll()
        if control.stop:
            raise StopRequested
        emit(PhaseChanged(phase=phase, fraction=fraction))

    report("preparing data", None)
    threads = read_json(folder.environment_file).get("threads") if restore is not None else None
    session = assemble(config, report, threads=threads if config.precision.threads is None else None)
    try:
        check_data(folder, session)
        write_text(folder.data_file, json.dumps(session.data.report, indent=1) + "\n")
        save_splits(folder, session)
        if not folder.environment_file.exists():
            write_text(folder.environment_file, json.dumps(environment(session.device), indent=1) + "\n")
        emit(DataPrepared(report=session.data.report))
        _report_left_out(session.data.report, emit)
        if restore is not None:
            restore.apply(folder, session)
    except BaseException:
        session.data.close()
        raise
    return session


def _report_left_out(report: Mapping[str, Any], emit: Emit) -> None:
    """Name the files that are not trained on, wherever the run is watched."""
    if not report["skipped_total"]:
        return
    shown = [f"{item['path']}: {item['reason']}" for item in report["skipped"][:SHOWN_LEFT_OUT]]
    more = report["skipped_total"] - len(shown)
    rest = f"; and {more:,} more, all listed in data.json in the run folder." if more else "."
    emit(
        Found(
            level="warning",
            title=f"Left out: {counted(report['skipped_total'], 'file')} that cannot be trained on.",
            advice="; ".join(shown) + rest,
        )
    )


def _work(
    folder: RunFolder,
    session: Session,
    restore: Restore | None,
    hooks: Hooks,
    book: StatusBook,
    emit: Emit,
) -> None:
    """Train and end in exactly one final event, whatever happens."""

    def flushed(row: Any) -> None:
        book.samples_per_second = recorder.samples_per_second
        hooks.flushed(row)

    final: Event
    progress = session.progress
    recorder = Recorder(session, folder, flushed)  # cuts the series before anyone hears of the attempt
    keeper = Keeper(folder, session.config.checkpoints.keep_last, emit)
    ledger = Ledger(session, recorder, keeper, emit)
    try:
        _announce(folder, session, restore, emit)
        if isinstance(restore, Resume):
            keeper.relabel(restore.checkpoint.name, progress.best_step)
        skipped = progress.skipped
        fit(session, hooks.control, recorder, ledger)
        ledger.report_skips(skipped)
        final = _finish(session, hooks.control, recorder, ledger, keeper)
    except Exception as error:
        logger.exception("The run failed")
        final = _failed(error, session.progress.step, session.config.loop)
    finally:
        keeper.close()
        recorder.close()
    emit(final)


def _announce(folder: RunFolder, session: Session, restore: Restore | None, emit: Emit) -> None:
    """Say that an attempt begins, what was taken over, and what a branch's parent had measured before."""
    emit(
        AttemptStarted(
            attempt=len(read_history(folder.events_file).attempts) + 1,
            step=session.progress.step,
            total_steps=session.total_steps,
            steps_per_epoch=session.data.steps_per_epoch,
            epochs=session.config.loop.epochs,
            device=describe_device(session.device),
            checkpoint=str(restore.checkpoint) if restore else None,
        )
    )
    for finding in restore.findings if restore else ():
        emit(finding)
    if isinstance(restore, Branch):
        for earlier in restore.earlier_events(session):
            emit(earlier)


def _finish(session: Session, control: Control, recorder: Recorder, ledger: Ledger, keeper: Keeper) -> Event:
    progress = session.progress
    recorder.flush()
    if not progress.finished:
        if not control.discard:
            ledger.phase("saving")
            ledger.save()
        keeper.finish()
        return Stopped(step=progress.step)
    ledger.phase("saving")
    keeper.finish()
    ledger.test()
    return Completed(step=progress.step, reason=progress.finished)


def _failed(error: Exception, step: int, loop: Loop) -> Failed:
    log = traceback.format_exc(limit=-12)
    if isinstance(error, TrainingError):
        return Failed(step=step, reason=error.message, advice=error.advice, log=log)
    if ran_out_of_memory(error):
        half = max(1, loop.batch_size // 2)
        advice = (
            f"Use loop.batch_size = {half} with loop.accumulation = {loop.accumulation * 2}: the same effective batch in "
            "half of the memory."
        )
        return Failed(step=step, reason="The device ran out of memory.", advice=advice, log=log)
    reason = f"An unexpected fault ended the run: {type(error).__name__}: {error}"
    advice = "Resume to go on from the last checkpoint; the log has details." if step else "The log has details."
    return Failed(step=step, reason=reason, advice=advice, log=log)


def _log_to(folder: RunFolder) -> logging.Handler:
    handler = logging.FileHandler(folder.log_file, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.getLogger("training").addHandler(handler)
    return handler
