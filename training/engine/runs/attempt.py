"""One attempt at a run, from claiming its folder to its one final event."""

from __future__ import annotations

import json
import logging
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from training.caches.users import use_caches
from training.checkpoints import CheckpointManager
from training.config import RunConfig
from training.control import StopRequested
from training.data_report import DataReport
from training.diagnosis import LiveDiagnosis
from training.engine.assemble import assemble
from training.engine.checkpoint_saver import CheckpointSaver
from training.engine.compile import compile_session
from training.engine.device import choose_device
from training.engine.fit import Loop
from training.engine.gpu_search import describe_absence, explain_cpu
from training.engine.machine import explain_shared_memory
from training.engine.profiler import Profiler
from training.engine.ranks.start import join_ranks, lead_ranks
from training.engine.recovery.memory import OutOfMemory
from training.engine.recovery.memory_watch import MemoryWatch, explain_vanished
from training.engine.recovery.nonfinite import NonFiniteLog
from training.engine.recovery.origin import check_data, require_data_of
from training.engine.recovery.restore import Branch, FromStart, Restore, Resume, load_checked
from training.engine.recovery.rollback import RollBack
from training.engine.requests import Requests
from training.engine.runs.environment import (
    compare,
    describe_environment,
    earlier_environment,
    installed_packages,
    read_auto_settings,
    read_normalization,
)
from training.engine.runs.hooks import Hooks
from training.engine.runs.outcome import describe_failure
from training.engine.runs.run_writer import RunWriter
from training.engine.session import Session
from training.engine.step_logger import StepLogger
from training.engine.validation import Validation
from training.errors import InputError, RunBusyError, TrainingError, pluralize
from training.events import Completed, DataPrepared, Event, PhaseChanged, Stopped, inform
from training.findings.data import SKIPPED
from training.runs.folder import RunFolder, drop_refused
from training.runs.kept_files import keep_files
from training.runs.records.environment import read_environment
from training.runs.records.forms import StatusRecord
from training.runs.records.history import read_history
from training.runs.records.manifest import seal
from training.runs.records.packages import keep_packages
from training.runs.repair import repair_records
from training.runs.rewind import tell_rewind
from training.runs.storage import explain_disk_errors, free_reserve
from training.system.atomic import write_text
from training.system.gpus import look_for_nvidia
from training.system.process import heap_left_alone

logger = logging.getLogger(__name__)

SHOWN_LEFT_OUT = 20
AT_ONCE = "Stopped at once, without saving."


def run_attempt(
    folder: RunFolder,
    config: RunConfig,
    hooks: Hooks,
    restore: Restore | None,
    new: bool,
    source: Path | None = None,
    changes: tuple[str, ...] = (),
) -> StatusRecord:
    """Train in ``folder`` until done or stopped; returns the run's status record.

    ``source`` is the file that ``config`` was read from, ``changes`` what this attempt does otherwise than the run says.
    Raises InputError when the work cannot begin: a ``new`` folder is then removed, an old one is left what it was, and so is any that
    another process works on (RunBusyError).
    """
    try:
        hooks = lead_ranks(folder, config, hooks, restore)
        with hooks.ranks.failures_told(), RunWriter(folder, hooks) as writer, use_caches():
            writer.changes, writer.muted = changes, config.muted_findings
            session = _begin(writer, config, restore, new, source)
            if session is not None:
                try:
                    _work(writer, session, restore)
                finally:
                    session.data.close()
            return writer.book.record
    except RunBusyError:  # it is another process's: it has begun there, or was there a moment ago
        raise
    except InputError as error:
        if new:
            drop_refused(folder, error)
        raise


def _begin(
    writer: RunWriter, config: RunConfig, restore: Restore | None, new: bool, source: Path | None
) -> Session | None:
    """The session, ready for its first step; None when the person stopped it before. A fault that is not the input's
    ends the run as failed and is raised as TrainingError."""
    step = writer.step
    before = writer.book.record.model_dump(include={"status", "reason", "advice", "fix", "ended"})
    try:
        writer.open()
        with writer.hooks.ranks.failures_told():
            return _prepare(writer, config, restore, source)
    except KeyboardInterrupt:
        writer.emit(Stopped(step=writer.step, reason=AT_ONCE))
        return None
    except StopRequested:
        writer.emit(Stopped(step=writer.step, reason=writer.control.reason))
        return None
    except InputError:
        if not new:
            free_reserve(writer.folder.path)
            if writer.step == step:  # refused: the run is what it was, unless it has gone back by then
                writer.book.write(**before)
        raise
    except Exception as error:
        logger.exception("The run could not begin")
        failed = describe_failure(error, 0, config, writer.phase, writer.saved, writer.hooks.ranks)
        writer.begin_followers()
        writer.emit(failed)
        raise TrainingError(failed.reason, failed.advice, failed.fix) from error


def _prepare(writer: RunWriter, config: RunConfig, restore: Restore | None, source: Path | None) -> Session:
    folder = writer.folder

    def report(phase: str, fraction: float | None) -> None:
        writer.control.refuse_stop()
        writer.emit(PhaseChanged(phase=phase, fraction=fraction))

    report("preparing data", None)
    ranks = writer.hooks.ranks
    auto = read_auto_settings(folder, config, choose_device(config.precision.device), ranks.count)
    loads = restore is not None and restore.checkpoint is not None
    if isinstance(restore, Branch | Resume):
        auto = replace(auto, normalization=read_normalization(config, restore.manifest))
    auto = ranks.share(auto)
    with ranks.one_first():
        code = writer.hooks.main or _keep_code(folder, config, restore)
        session = assemble(config, report, auto, writer.hooks.kept, loads, code, writer.hooks.fused, ranks)
    try:
        require_data_of(session, writer.hooks.report)
        with explain_disk_errors(folder.data_file):
            check_data(folder, session, restore.manifest if isinstance(restore, Resume) else None)
        writer.emit(DataPrepared(report=session.data.report.shorten()))
        _report_left_out(writer, session.data.report)
        if restore is None:
            for finding in writer.hooks.judge(session):
                writer.emit(finding)
        else:
            load_checked(restore, folder, session)
            with explain_disk_errors(folder.series_file):
                lost = repair_records(folder, session.progress.step, session.data.steps_per_epoch)
            restore.findings.extend(lost)
        writer.begin_followers()
        compile_session(session, report)
        _note_environment(writer, session, restore, source)
        if isinstance(restore, Resume) and restore.beyond is not None:
            restore.findings.append(tell_rewind(writer.rewind(restore.beyond)))
        join_ranks(session, writer)
        writer.hooks.ready(session)
    except BaseException:
        session.data.close()
        raise
    return session


def _keep_code(folder: RunFolder, config: RunConfig, restore: Restore | None) -> RunFolder:
    """``folder`` with the run's own copies of the files that its network and its data are written in, and of its exclude list, which
    are made where there are none yet."""
    before = (
        restore.parent if isinstance(restore, Branch) else restore.ended if isinstance(restore, FromStart) else None
    )
    keep_files(folder, config, before)
    return folder


def _note_environment(writer: RunWriter, session: Session, restore: Restore | None, source: Path | None) -> None:
    """Record what this attempt runs on; a resumed run is told what of it is not as it was."""
    folder, step = writer.folder, session.progress.step
    with explain_disk_errors(folder.packages_file):
        packages = keep_packages(folder, installed_packages())
    writer.environment = describe_environment(session, source, packages, writer.hooks.ranks.count)
    if not read_environment(folder).model_fields_set:
        record = seal(writer.environment.record())
        with explain_disk_errors(folder.environment_file):
            write_text(folder.environment_file, json.dumps(record, indent=1) + "\n")
    if isinstance(restore, Resume):
        restore.findings.extend(compare(earlier_environment(folder, step), writer.environment, step))


def _report_left_out(writer: RunWriter, report: DataReport) -> None:
    """Name the files that are not trained on, wherever the run is watched."""
    if not report.skipped_total:
        return
    shown = [f"{item.path}: {item.reason}" for item in report.skipped[:SHOWN_LEFT_OUT]]
    more = report.skipped_total - len(shown)
    rest = f"; and {more:,} more, all listed in data.json in the run folder." if more else "."
    writer.emit(
        SKIPPED.find(
            "warning",
            f"Left out: {pluralize(report.skipped_total, 'file')} that cannot be trained on.",
            "; ".join(shown) + rest,
            evidence={"files": report.skipped_total},
        )
    )


def _work(writer: RunWriter, session: Session, restore: Restore | None) -> None:
    """Train and end in exactly one final event, whatever happens."""
    final: Event
    writer.book.session = session
    try:
        with session.ranks.failures_told(), ExitStack() as closing:
            final = _train(writer, session, restore, closing)
    except KeyboardInterrupt:  # the second Ctrl+C: not even the step is finished
        final = Stopped(step=session.progress.step, reason=AT_ONCE)
    except Exception as error:
        logger.exception("The run failed")
        ranks = writer.hooks.ranks
        final = describe_failure(error, session.progress.step, session.config, writer.phase, writer.saved, ranks)
    writer.emit(final)


def _train(writer: RunWriter, session: Session, restore: Restore | None, closing: ExitStack) -> Event:
    """Train until done or stopped; returns what to tell last. What is opened is closed with ``closing``."""

    def after_flush(row: Any, newest: Any) -> None:
        writer.book.samples_per_second = step_logger.samples_per_second
        writer.book.catch_up()
        writer.tell(writer.hooks.flushed, row, newest)
        for finding in watch.look():
            writer.emit(finding)
        if profiler.look(writer.control):
            step_logger.restart_clock()

    watch = MemoryWatch(session)
    folder = writer.folder
    skips = NonFiniteLog(session, writer.emit, folder.series_file)
    per_epoch, size = session.data.steps_per_epoch, session.count_parameters()
    diagnosis = LiveDiagnosis(folder, session.config, session.total_steps, per_epoch, size, writer.emit)
    with explain_disk_errors(folder.series_file):
        # Cuts the series before anyone hears of the attempt.
        step_logger = StepLogger(session, folder, skips, after_flush, diagnosis.after_flush)
        closing.callback(step_logger.close)
        rolls_back = session.config.loop.after_skips == "roll_back"
        manager = CheckpointManager(folder, session.config.checkpoints.keep_last, writer.emit, rolls_back)
        closing.callback(manager.close)
    saver = CheckpointSaver(session, writer, step_logger, manager)
    # Planned, as what it replaces may be: it was the person's settings that called for it, not the person.
    out_of_memory = OutOfMemory(session, writer.emit, lambda: saver.save(again=True, planned=True))
    validation = Validation(session, writer, step_logger, out_of_memory, diagnosis)
    requests = Requests(writer, step_logger, validation, saver)
    profiler = Profiler(session, writer, out_of_memory, saver)
    roll_back = RollBack(writer, session, step_logger, manager, saver)
    _announce(writer, session, restore)
    diagnosis.resume(session.progress.step)
    if isinstance(restore, Resume):
        with explain_disk_errors(folder.labels_file):
            manager.relabel(restore.checkpoint.name, session.progress.best_saved)
    roll_back.prepare()
    closing.callback(profiler.end)  # also of a run that fails

    def wind_up() -> None:
        if writer.control.fault is None:
            step_logger.write_rest()
        else:  # the files may be another process's now
            step_logger.discard()

    closing.callback(wind_up)
    with heap_left_alone():
        Loop(session, writer, step_logger, out_of_memory, validation, saver, requests, roll_back).fit()
    skips.summarize()
    if writer.control.fault is not None:
        raise writer.control.fault
    step_logger.flush_all()
    if not session.progress.finished:
        if not writer.control.discard:
            writer.set_phase("saving")
            saver.save()
        manager.finish()
        return Stopped(step=session.progress.step, reason=writer.control.reason)
    writer.set_phase("saving")
    manager.finish()
    # A kill may have come between the last checkpoint and what it makes superfluous.
    manager.prune(session.progress.step)
    validation.test(manager.best_path())
    diagnosis.end(session.progress.finished)
    for finding in writer.hooks.compare(session, folder):
        writer.emit(finding)
    return Completed(step=session.progress.step, reason=session.progress.finished)


def _announce(writer: RunWriter, session: Session, restore: Restore | None) -> None:
    """Say that an attempt begins, what was taken over, what killed the one before, and what a branch's parent had measured
    before."""
    history = read_history(writer.folder.events_file)
    lost = explain_vanished(writer.folder, history, session)
    chosen = session.config.precision.device == "auto" and session.device.type == "cpu"
    traces = look_for_nvidia() if chosen else None
    checkpoint = restore.checkpoint if restore else None
    note = describe_absence(traces) if traces else ""
    writer.announce(session, len(history.attempts) + 1, checkpoint, device_note=note)
    if traces is not None and (reason := explain_cpu(traces)) is not None:
        writer.emit(reason)
    if (small := explain_shared_memory(session.data, session.config.loader.prefetch_factor)) is not None:
        writer.emit(small)
    if lost is not None:
        writer.emit(lost)
    if (beginning := session.beginning) is not None:  # with weights that are not fresh
        writer.emit(inform(beginning.sentence, beginning.advice))
    if session.compiled is not None and session.objective.parts:
        parts = ", ".join(session.objective.parts)
        writer.emit(
            inform(
                f"The parts of the loss ({parts}) are not recorded: they are inside the compiled step.",
                'precision.compile = "model" and precision.cuda_graphs = "off" show them.',
            )
        )
    for finding in restore.findings if restore else []:
        writer.emit(finding)
    if isinstance(restore, Branch):
        for earlier in restore.earlier_events(writer.folder, session):
            writer.emit(earlier)
