"""A run from start to its one final event: new, resumed or branched."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from training.atomic import write_text
from training.checkpoints import Keeper, newest_good
from training.config import RunConfig, apply_overrides, parse_config
from training.config.diff import diff
from training.config.engine import Loop
from training.config.files import config_data
from training.control import Control
from training.engine.assemble import assemble
from training.engine.device import choose_device, describe_device, ran_out_of_memory
from training.engine.environment import environment
from training.engine.fit import fit
from training.engine.ledger import Ledger
from training.engine.record import Recorder
from training.engine.restore import Branch, Restore, Resume, check_data, save_splits
from training.engine.session import Session
from training.engine.status import StatusBook
from training.errors import CheckpointError, InputError, TrainingError
from training.events import AttemptStarted, Completed, DataPrepared, Event, Failed, PhaseChanged, Stopped
from training.runs.folder import RunFolder, claim, create_run, delete_run, read_json, release
from training.runs.history import EventLog, read_history
from training.runs.index import index_run
from training.runs.manifest import verify
from training.runs.series import read_series
from training.runs.workspace import find_target

logger = logging.getLogger(__name__)

Watch = Callable[[Event], None]


@dataclass
class Hooks:
    """Who is told what: ``started`` the run folder, ``watch`` every event, ``flushed`` each telemetry row."""

    started: Callable[[RunFolder], None] = lambda folder: None
    watch: Watch = lambda event: None
    flushed: Callable[[Any], None] = lambda row: None
    control: Control = field(default_factory=Control)


def start_run(config: RunConfig, workspace: Path, hooks: Hooks | None = None) -> dict[str, Any]:
    """Train ``config`` in a new run folder; returns the run's status record.

    Raises InputError, leaving nothing behind, when the configuration or its data cannot be used.
    """
    choose_device(config.precision.device)  # said before anything is made
    folder = create_run(workspace, config)
    return _attempt(folder, config, hooks or Hooks(), restore=None, new=True)


def resume_run(
    target: str, workspace: Path, overrides: Sequence[str] = (), hooks: Hooks | None = None
) -> dict[str, Any]:
    """Go on with a run from its newest whole checkpoint, or from the one that ``target`` names.

    ``overrides`` that change no result (loader, saving) apply to this attempt; others make a branch, a new run.
    Raises InputError when there is nothing to go on with.
    """
    hooks = hooks or Hooks()
    folder, checkpoint = find_target(target, workspace)
    config = folder.config()
    if overrides:
        data = config_data(config)
        apply_overrides(data, overrides)
        changed = parse_config(data, "--set", paths=False)
        if any(change.affects_result for change in diff(config, changed)):
            beside = folder.path.parent.parent if folder.path.parent.name == "runs" else workspace
            return branch_run(_checkpoint_of(folder, checkpoint), changed, beside, hooks)
        config = changed
    parse_config(config_data(config), folder.id)  # its files must still be there
    claim(folder)
    try:
        restore = _resume_from(folder, checkpoint)
    except BaseException:
        release(folder)
        raise
    return _attempt(folder, config, hooks, restore=restore, new=False)


def branch_run(checkpoint: Path, config: RunConfig, workspace: Path, hooks: Hooks | None = None) -> dict[str, Any]:
    """A new run that begins with what ``checkpoint`` holds and goes on with ``config``."""
    manifest = verify(checkpoint)
    parent = RunFolder(checkpoint.parent.parent)
    folder = create_run(workspace, config, parent={"run": parent.id, "checkpoint": str(checkpoint)})
    return _attempt(folder, config, hooks or Hooks(), restore=Branch(checkpoint, manifest, parent), new=True)


def _checkpoint_of(folder: RunFolder, checkpoint: Path | None) -> Path:
    if checkpoint is not None:
        return checkpoint
    path, _, _ = newest_good(folder, len(read_series(folder.series_file)))
    if path is None:
        raise InputError(f"The run {folder.id} has no checkpoint yet; resume it without --set, or start a new run.")
    return path


def _resume_from(folder: RunFolder, checkpoint: Path | None) -> Resume | None:
    """What to resume from; None (from the beginning) when the run was cut off before its first checkpoint."""
    rows = len(read_series(folder.series_file))
    if checkpoint is None:
        newest, manifest, refused = newest_good(folder, rows)
        return Resume(newest, manifest, refused) if newest else None
    manifest = verify(checkpoint)
    if manifest["step"] > rows:
        raise CheckpointError(
            f"{checkpoint}: lies ahead of the run, which was taken back to step {rows}; resume the run itself, or branch "
            "from this checkpoint."
        )
    return Resume(checkpoint, manifest, [])


def _attempt(folder: RunFolder, config: RunConfig, hooks: Hooks, restore: Restore | None, new: bool) -> dict[str, Any]:
    claim(folder)
    log = EventLog(folder.events_file)
    handler = _log_to(folder)
    book = StatusBook(folder)
    before = {key: book.record.get(key) for key in ("status", "reason", "advice", "ended")}

    def emit(event: Event) -> None:
        log.emit(event)
        book.note(event)
        hooks.watch(event)

    try:
        hooks.started(folder)
        hooks.control.watch(folder.path)
        book.write(status="running", reason=None, advice=None)
        index_run(folder)
        session = _prepare(folder, config, restore, emit)
    except BaseException as error:
        failed: Failed | None = None
        if isinstance(error, Exception) and not isinstance(error, InputError):
            logger.error("The run could not begin", exc_info=error)
            failed = _failed(error, 0, config.loop)
            emit(failed)
        elif not new:
            book.write(**before)  # refused: the run is what it was
        log.close()
        _stop_log(handler)
        release(folder)
        if new and failed is None:
            delete_run(folder)
            raise
        index_run(folder)
        if failed is None:
            raise
        raise TrainingError(failed.reason, failed.advice) from error
    try:
        book.session = session
        _work(folder, session, restore, hooks, book, emit)
    finally:
        session.data.close()
        log.close()
        _stop_log(handler)
        release(folder)
        index_run(folder)
    return book.record


def _prepare(folder: RunFolder, config: RunConfig, restore: Restore | None, emit: Callable[[Event], None]) -> Session:
    def report(phase: str, fraction: float | None) -> None:
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
        if restore is not None:
            restore.apply(folder, session)
    except BaseException:
        session.data.close()
        raise
    return session


def _work(
    folder: RunFolder,
    session: Session,
    restore: Restore | None,
    hooks: Hooks,
    book: StatusBook,
    emit: Callable[[Event], None],
) -> None:
    """Train and end in exactly one final event, whatever happens."""
    progress, checkpoints = session.progress, session.config.checkpoints

    def flushed(row: Any) -> None:
        book.samples_per_second = recorder.samples_per_second
        hooks.flushed(row)

    recorder = Recorder(session, folder, flushed)  # cuts the series before anyone hears of the attempt
    attempt = len(read_history(folder.events_file).attempts) + 1
    emit(
        AttemptStarted(
            attempt=attempt,
            step=progress.step,
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

    final: Event
    keeper = Keeper(folder, checkpoints.keep_last, emit)
    ledger = Ledger(session, recorder, keeper, emit)
    try:
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


def _stop_log(handler: logging.Handler) -> None:
    logging.getLogger("training").removeHandler(handler)
    handler.close()
