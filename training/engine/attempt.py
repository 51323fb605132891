"""One attempt at a run, from claiming its folder to its one final event."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from training.atomic import write_text
from training.checkpoints import Keeper
from training.config import RunConfig
from training.control import Control
from training.engine.assemble import assemble
from training.engine.device import describe_device
from training.engine.environment import environment
from training.engine.fit import fit
from training.engine.hooks import Hooks
from training.engine.ledger import Emit, Ledger
from training.engine.memory_watch import MemoryWatch, vanished
from training.engine.outcome import failure
from training.engine.record import Recorder
from training.engine.restore import Branch, Restore, Resume, check_data, save_splits
from training.engine.session import Session
from training.engine.workplace import Workplace
from training.errors import InputError, TrainingError, counted
from training.events import AttemptStarted, Completed, DataPrepared, Event, Found, PhaseChanged, Stopped
from training.runs.folder import RunFolder, delete_run, read_json
from training.runs.history import read_history

logger = logging.getLogger(__name__)

SHOWN_LEFT_OUT = 20


class StopRequested(Exception):
    """The person asked for a stop while the data was still being prepared."""


def work_on(folder: RunFolder, config: RunConfig, hooks: Hooks, restore: Restore | None, new: bool) -> dict[str, Any]:
    """Train in ``folder`` until done or stopped; returns the run's status record.

    Raises InputError when the work cannot begin: a ``new`` folder is then removed, an old one is left what it was.
    """
    try:
        with Workplace(folder, hooks) as place:
            session = _begin(place, config, restore, new)
            if session is not None:
                try:
                    _work(place, session, restore)
                finally:
                    session.data.close()
            return place.book.record
    except InputError:
        if new:
            delete_run(folder)
        raise


def _begin(place: Workplace, config: RunConfig, restore: Restore | None, new: bool) -> Session | None:
    """The session, ready for its first step; None when the person stopped it before. A fault that is not the input's
    ends the run as failed and is raised as TrainingError."""
    before = {key: place.book.record.get(key) for key in ("status", "reason", "advice", "fix", "ended", "step")}
    try:
        place.open()
        return _prepare(place, config, restore)
    except StopRequested:
        place.emit(Stopped(step=int(before["step"] or 0), reason=place.control.reason))
        return None
    except InputError:
        if not new:
            place.book.write(**before)  # refused: the run is what it was
        raise
    except Exception as error:
        logger.exception("The run could not begin")
        failed = failure(error, 0, config, place.phase)
        place.emit(failed)
        raise TrainingError(failed.reason, failed.advice, failed.fix) from error


def _prepare(place: Workplace, config: RunConfig, restore: Restore | None) -> Session:
    folder = place.folder

    def report(phase: str, fraction: float | None) -> None:
        place.control.poll()
        if place.control.stop:
            raise StopRequested
        place.emit(PhaseChanged(phase=phase, fraction=fraction))

    report("preparing data", None)
    threads = read_json(folder.environment_file).get("threads") if restore is not None else None
    session = assemble(config, report, threads=threads if config.precision.threads is None else None)
    try:
        check_data(folder, session)
        write_text(folder.data_file, json.dumps(session.data.report, indent=1) + "\n")
        save_splits(folder, session)
        if not folder.environment_file.exists():
            write_text(folder.environment_file, json.dumps(environment(session.device), indent=1) + "\n")
        place.emit(DataPrepared(report=session.data.report))
        _report_left_out(session.data.report, place.emit)
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


def _work(place: Workplace, session: Session, restore: Restore | None) -> None:
    """Train and end in exactly one final event, whatever happens."""

    def flushed(row: Any) -> None:
        place.book.samples_per_second = recorder.samples_per_second
        place.hooks.flushed(row)
        for finding in watch.look():
            place.emit(finding)

    final: Event
    place.book.session = session
    watch = MemoryWatch(session)
    progress, folder = session.progress, place.folder
    recorder = Recorder(session, folder, flushed)  # cuts the series before anyone hears of the attempt
    keeper = Keeper(folder, session.config.checkpoints.keep_last, place.emit)
    ledger = Ledger(session, recorder, keeper, place.emit)
    try:
        _announce(place, session, restore)
        if isinstance(restore, Resume):
            keeper.relabel(restore.checkpoint.name, progress.best_step)
        skipped = progress.skipped
        fit(session, place.control, recorder, ledger)
        ledger.report_skips(skipped)
        final = _finish(session, place.control, recorder, ledger, keeper)
    except Exception as error:
        logger.exception("The run failed")
        final = failure(error, session.progress.step, session.config, place.phase)
    finally:
        keeper.close()
        recorder.close()
    place.emit(final)


def _announce(place: Workplace, session: Session, restore: Restore | None) -> None:
    """Say that an attempt begins, what was taken over, what killed the one before, and what a branch's parent had measured
    before."""
    history = read_history(place.folder.events_file)
    lost = vanished(place.folder, history, session.progress.step)
    place.emit(
        AttemptStarted(
            attempt=len(history.attempts) + 1,
            step=session.progress.step,
            total_steps=session.total_steps,
            steps_per_epoch=session.data.steps_per_epoch,
            epochs=session.config.loop.epochs,
            device=describe_device(session.device),
            checkpoint=str(restore.checkpoint) if restore and restore.checkpoint else None,
        )
    )
    for finding in ([lost] if lost else []) + (restore.findings if restore else []):
        place.emit(finding)
    if isinstance(restore, Branch):
        for earlier in restore.earlier_events(session):
            place.emit(earlier)


def _finish(session: Session, control: Control, recorder: Recorder, ledger: Ledger, keeper: Keeper) -> Event:
    progress = session.progress
    recorder.flush()
    if not progress.finished:
        if not control.discard:
            ledger.phase("saving")
            ledger.save()
        keeper.finish()
        return Stopped(step=progress.step, reason=control.reason)
    ledger.phase("saving")
    keeper.finish()
    ledger.test()
    return Completed(step=progress.step, reason=progress.finished)
