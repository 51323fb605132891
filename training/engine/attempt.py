"""One attempt at a run, from claiming its folder to its one final event."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from training.atomic import write_text
from training.checkpoints import Keeper
from training.config import RunConfig
from training.config.user_file import UserFile
from training.control import Control
from training.data.prepare import in_short
from training.engine.assemble import assemble
from training.engine.compile import compile_session
from training.engine.device import choose_device
from training.engine.environment import compare, earlier_environment, environment, kept_choices, normalised_by
from training.engine.fit import fit
from training.engine.hooks import Hooks
from training.engine.ledger import Emit, Ledger
from training.engine.memory_watch import MemoryWatch, vanished
from training.engine.misfits import put_back
from training.engine.origin import check_data
from training.engine.outcome import failure
from training.engine.profile import Profiler
from training.engine.record import Recorder
from training.engine.restore import Anew, Branch, Restore, Resume
from training.engine.rollback import RollBack
from training.engine.session import Session
from training.engine.skips import SkipLog
from training.engine.workplace import Workplace
from training.errors import InputError, TrainingError, counted
from training.events import Completed, DataPrepared, Event, Found, PhaseChanged, Stopped
from training.models.user_file import keep_code
from training.objectives import Tables
from training.process import heap_left_alone
from training.runs.evaluation import Part, note_evaluation
from training.runs.folder import RunFolder, delete_run
from training.runs.history import read_history
from training.runs.manifest import read_sealed, seal
from training.runs.mending import mend_records
from training.runs.rewind import tell_rewind
from training.runs.storage import free_reserve, stored

logger = logging.getLogger(__name__)

SHOWN_LEFT_OUT = 20
AT_ONCE = "Stopped at once, without saving."


class StopRequested(Exception):
    """The person asked for a stop while the data was still being prepared."""


def work_on(
    folder: RunFolder,
    config: RunConfig,
    hooks: Hooks,
    restore: Restore | None,
    new: bool,
    source: Path | None = None,
    changes: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Train in ``folder`` until done or stopped; returns the run's status record.

    ``source`` is the file that ``config`` was read from, ``changes`` what this attempt does otherwise than the run says.
    Raises InputError when the work cannot begin: a ``new`` folder is then removed, an old one is left what it was.
    """
    try:
        with Workplace(folder, hooks) as place:
            place.changes = changes
            session = _begin(place, config, restore, new, source)
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


def _begin(
    place: Workplace, config: RunConfig, restore: Restore | None, new: bool, source: Path | None
) -> Session | None:
    """The session, ready for its first step; None when the person stopped it before. A fault that is not the input's
    ends the run as failed and is raised as TrainingError."""
    step = place.step
    before = {key: place.book.record.get(key) for key in ("status", "reason", "advice", "fix", "ended")}
    try:
        place.open()
        return _prepare(place, config, restore, source)
    except KeyboardInterrupt:
        place.emit(Stopped(step=place.step, reason=AT_ONCE))
        return None
    except StopRequested:
        place.emit(Stopped(step=place.step, reason=place.control.reason))
        return None
    except InputError:
        if not new:
            free_reserve(place.folder.path)
            if place.step == step:  # refused: the run is what it was, unless it has gone back by then
                place.book.write(**before)
        raise
    except Exception as error:
        logger.exception("The run could not begin")
        failed = failure(error, 0, config, place.phase, place.saved)
        place.emit(failed)
        raise TrainingError(failed.reason, failed.advice, failed.fix) from error


def _prepare(place: Workplace, config: RunConfig, restore: Restore | None, source: Path | None) -> Session:
    folder = place.folder

    def report(phase: str, fraction: float | None) -> None:
        place.control.poll()
        if place.control.fault is not None:
            raise place.control.fault
        if place.control.stop:
            raise StopRequested
        place.emit(PhaseChanged(phase=phase, fraction=fraction))

    report("preparing data", None)
    choices = kept_choices(folder, config, choose_device(config.precision.device))
    loads = restore is not None and restore.checkpoint is not None
    if isinstance(restore, Branch | Resume):
        choices = replace(choices, normalisation=normalised_by(config, restore.manifest))
    session = assemble(config, report, choices, place.hooks.kept, loads, _code(folder, config, restore))
    try:
        with stored(folder.data_file):
            check_data(folder, session, restore.manifest if isinstance(restore, Resume) else {})
        place.emit(DataPrepared(report=in_short(session.data.report)))
        _report_left_out(session.data.report, place.emit)
        if restore is not None:
            put_back(restore, folder, session)
        _mend(folder, session, restore)
        compile_session(session, report)
        _note_environment(place, session, restore, source)
        if isinstance(restore, Resume) and restore.beyond is not None:
            restore.findings.append(tell_rewind(place.rewind(restore.beyond)))
    except BaseException:
        session.data.close()
        raise
    return session


def _code(folder: RunFolder, config: RunConfig, restore: Restore | None) -> Path | None:
    """The run's own copy of the file that the network is written in, which is made where there is none yet."""
    if not isinstance(config.model, UserFile):
        return None
    before = restore.parent if isinstance(restore, Branch) else restore.ended if isinstance(restore, Anew) else None
    keep_code(config.model, folder.code_file, *([before.code_file] if before else []))
    return folder.code_file


def _mend(folder: RunFolder, session: Session, restore: Restore | None) -> None:
    """Make the files around the checkpoints fit to go on with, and say what was damaged."""
    steps_per_epoch = session.data.steps_per_epoch
    manifest = restore.manifest if isinstance(restore, Resume) else {}
    with stored(folder.series_file):
        found = mend_records(folder, session.progress.step, steps_per_epoch, manifest)
    if restore is not None:
        restore.findings.extend(found)


def _note_environment(place: Workplace, session: Session, restore: Restore | None, source: Path | None) -> None:
    """Record what this attempt runs on; a resumed run is told what of it is not as it was."""
    folder, step = place.folder, session.progress.step
    place.environment = environment(session, source)
    if not read_sealed(folder.environment_file):
        with stored(folder.environment_file):
            write_text(folder.environment_file, json.dumps(seal(place.environment), indent=1) + "\n")
    if isinstance(restore, Resume):
        restore.findings.extend(compare(earlier_environment(folder, step), place.environment, step))


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
    final: Event
    place.book.session = session
    try:
        with ExitStack() as closing:
            final = _train(place, session, restore, closing)
    except KeyboardInterrupt:  # the second Ctrl+C: not even the step is finished
        final = Stopped(step=session.progress.step, reason=AT_ONCE)
    except Exception as error:
        logger.exception("The run failed")
        final = failure(error, session.progress.step, session.config, place.phase, place.saved)
    place.emit(final)


def _train(place: Workplace, session: Session, restore: Restore | None, closing: ExitStack) -> Event:
    """Train until done or stopped; returns what to tell last. What is opened is closed with ``closing``."""

    def flushed(row: Any) -> None:
        place.book.samples_per_second = recorder.samples_per_second
        place.book.catch_up()
        place.tell(place.hooks.flushed, row)
        for finding in watch.look():
            place.emit(finding)
        profiler.look(place.control)

    watch = MemoryWatch(session)
    progress, folder = session.progress, place.folder
    profiler = Profiler(session, folder, place.emit)
    skips = SkipLog(session, place.emit)
    with stored(folder.series_file):
        recorder = Recorder(session, folder, skips, flushed)  # cuts the series before anyone hears of the attempt
        closing.callback(recorder.close)
        rolls_back = session.config.loop.after_skips == "roll_back"
        keeper = Keeper(folder, session.config.checkpoints.keep_last, place.emit, rolls_back)
        closing.callback(keeper.close)

    def keep_tables(part: Part, step: int, tables: Tables) -> None:
        with stored(folder.evaluation_file):
            note_evaluation(folder, part, step, session.data.facts.names, tables)

    ledger = Ledger(session, recorder, keeper, place.emit, place.evidence, keep_tables)
    roll_back = RollBack(place, session, recorder, keeper, ledger)
    _announce(place, session, restore)
    if isinstance(restore, Resume):
        with stored(folder.labels_file):
            keeper.relabel(restore.checkpoint.name, progress.best_saved)
    skipped = progress.skipped
    roll_back.prepare()
    closing.callback(profiler.end)  # also of a run that fails

    def wind_up() -> None:
        if place.control.fault is None:
            recorder.write_rest()
        else:  # the files may be another process's now
            recorder.forget()

    closing.callback(wind_up)
    if place.hooks.profile:
        profiler.watch_all()
    with heap_left_alone():
        fit(session, place.control, recorder, ledger, roll_back)
    ledger.report_skips(skipped)
    return _finish(session, place.control, recorder, ledger, keeper)


def _announce(place: Workplace, session: Session, restore: Restore | None) -> None:
    """Say that an attempt begins, what was taken over, what killed the one before, and what a branch's parent had measured
    before."""
    history = read_history(place.folder.events_file)
    lost = vanished(place.folder, history, session)
    place.announce(session, len(history.attempts) + 1, restore.checkpoint if restore else None)
    for finding in ([lost] if lost else []) + _begun(session) + (restore.findings if restore else []):
        place.emit(finding)
    if isinstance(restore, Branch):
        for earlier in restore.earlier_events(place.folder, session):
            place.emit(earlier)


def _begun(session: Session) -> list[Found]:
    """With which weights the network begins, where they are not fresh."""
    beginning = session.beginning
    return [Found(level="info", title=beginning.sentence, advice=beginning.advice)] if beginning else []


def _finish(session: Session, control: Control, recorder: Recorder, ledger: Ledger, keeper: Keeper) -> Event:
    progress = session.progress
    if control.fault is not None:
        raise control.fault
    recorder.settle()
    if not progress.finished:
        if not control.discard:
            ledger.phase("saving")
            ledger.save()
        keeper.finish()
        return Stopped(step=progress.step, reason=control.reason)
    ledger.phase("saving")
    keeper.finish()
    keeper.tidy(progress.step)  # a kill may have come between the last checkpoint and what it makes superfluous
    ledger.test()
    return Completed(step=progress.step, reason=progress.finished)
