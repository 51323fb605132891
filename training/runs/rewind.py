"""Going back to an earlier checkpoint in the same run: what lay beyond is set aside, and can be brought back to the bit."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from training.errors import InputError, format_bytes
from training.events import Finding, Rewound
from training.runs.boundary.frames import copy_boundary
from training.runs.folder import RunFolder, claim, read_json, release
from training.runs.links import refuse_links
from training.runs.owner import refuse_any
from training.runs.records.columns import copy_columns
from training.runs.records.evaluation import read_evaluation
from training.runs.records.forms import BestCheckpoint
from training.runs.records.history import EventLog, History, read_history
from training.runs.records.manifest import (
    BEST,
    LAST,
    checkpoint_folders,
    checkpoint_name,
    checkpoint_step,
    read_manifest,
    write_labels,
)
from training.runs.records.series import FLUSH_ROW, STEP_ROW, SeriesWriter, count_rows, is_series, read_series
from training.runs.set_aside import (
    NEW,
    SetAside,
    exchange,
    finish_rewind,
    link,
    list_set_aside,
    own_bytes,
    remove,
    state_files,
)
from training.runs.storage import explain_disk_errors
from training.runs.trash import trash_part
from training.system.untrusted import MEGABYTE

__all__ = [
    "Beyond",
    "SetAside",
    "clear",
    "finish_rewind",
    "list_set_aside",
    "look_beyond",
    "restore",
    "rewind",
    "throw_away",
]


@dataclass(frozen=True)
class Beyond:
    """What of a run lies beyond ``checkpoint``, and the run's records as they were when somebody looked: an attempt that goes back
    there has changed them by then."""

    checkpoint: Path
    step: int
    reached: int
    checkpoints: int
    size: int  # bytes
    status: bytes
    events: int  # bytes of the file

    @property
    def note(self) -> str:
        """What a resume from the checkpoint does with it, as a clause."""
        return f"{_steps(self.step, self.reached)} set aside in the run's folder ({format_bytes(self.size)}) and can be brought back"


def look_beyond(folder: RunFolder, checkpoint: Path) -> Beyond | None:
    """What going back to ``checkpoint`` would set aside; None where nothing lies beyond but steps that no checkpoint holds, which
    are simply done again. Raises CheckpointError when it is no checkpoint."""
    step = read_manifest(checkpoint).step
    reached, later = _came_beyond(folder, step)
    if not reached:
        return None
    evaluations = [path for at, path in folder.evaluation_folders() if at > step]
    records = [path for path in state_files(folder) if path != folder.profile_file]  # which the run keeps
    return Beyond(
        checkpoint=checkpoint,
        step=step,
        reached=reached,
        checkpoints=len(later),
        size=sum(map(own_bytes, [*later, *evaluations])) + sum(map(_size, records)),
        status=folder.status_file.read_bytes() if folder.status_file.is_file() else b"",
        events=_size(folder.events_file),
    )


def _came_beyond(folder: RunFolder, step: int) -> tuple[int, list[Path]]:
    """How far the run came beyond ``step``, and its checkpoints there, also those that a newer version wrote; 0 where it has
    nothing but rows to show for it."""
    later = [path for path in checkpoint_folders(folder) if checkpoint_step(path) > step]
    record = folder.status()
    ended = record.step if record.status == "completed" else 0
    if not later and ended <= step:
        return 0, []
    return max(count_rows(folder.series_file, STEP_ROW), ended, *map(checkpoint_step, later)), later


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def rewind(folder: RunFolder, beyond: Beyond) -> SetAside:
    """Take the run back to the checkpoint, setting aside what lies beyond it, in one step. The caller has claimed the run, and
    has no file of it open.

    Raises InputError, having changed nothing, where that cannot be written.
    """

    def fill(made: Path) -> None:
        kept, new = RunFolder(made), RunFolder(made / NEW)
        new.checkpoints.mkdir(parents=True)
        earlier = {path for path in checkpoint_folders(folder) if path.name <= checkpoint_name(beyond.step)}
        for path in earlier | {beyond.checkpoint}:  # which may have been renamed
            shutil.copytree(path, new.checkpoints / path.name, copy_function=link, symlinks=True)
        for step, path in folder.evaluation_folders():
            if step <= beyond.step:
                shutil.copytree(path, new.evaluations / path.name, copy_function=link, symlinks=True)
        _write_records(folder, new, beyond)
        for path in (kept.status_file, kept.events_file):  # links to what the attempt wrote since
            path.unlink(missing_ok=True)
        if beyond.status:
            kept.status_file.write_bytes(beyond.status)
        if beyond.events:
            _copy_first(folder.events_file, kept.events_file, beyond.events)

    return exchange(folder, beyond.step, beyond.reached, NEW, fill)


def _write_records(folder: RunFolder, new: RunFolder, beyond: Beyond) -> None:
    """The run's files as they are to be where it stands at the checkpoint, whose own were all tidied up meanwhile."""
    if folder.series_file.is_file():
        size = SeriesWriter.HEADER + beyond.step * STEP_ROW.itemsize
        _copy_first(folder.series_file, new.series_file, size)
    if folder.telemetry_file.is_file() and is_series(folder.telemetry_file, FLUSH_ROW):
        rows = read_series(folder.telemetry_file, FLUSH_ROW)
        telemetry = SeriesWriter(new.telemetry_file, FLUSH_ROW)
        telemetry.append(rows[rows["step"] <= beyond.step])
        telemetry.close()
    for before, after in zip(folder.column_files, new.column_files, strict=True):
        copy_columns(before, after, beyond.step)
    if folder.events_file.is_file():
        shutil.copyfile(folder.events_file, new.events_file)
    log = EventLog(new.events_file)
    log.emit(Rewound(step=beyond.step, reached=beyond.reached))
    log.close()
    measured = read_evaluation(folder, "validation")
    if measured is not None and measured.step <= beyond.step:  # the test measured weights that are set aside
        record = {"validation": read_json(folder.evaluation_file)["validation"]}
        new.evaluation_file.write_text(json.dumps(record) + "\n", encoding="utf-8")
    copy_boundary(folder.boundary_file, new.boundary_file, beyond.step)
    if folder.profile_file.is_file():
        link(folder.profile_file, new.profile_file)
    _write_status(folder, new, beyond)


def _write_status(folder: RunFolder, new: RunFolder, beyond: Beyond) -> None:
    """Labels and status: an attempt that goes on makes them exact, so they have to be true only until then."""
    manifest = read_manifest(beyond.checkpoint)
    improved = [item for item in read_history(new.events_file).validations if item.improved]
    best = checkpoint_name(improved[-1].step) if improved else ""
    labels = {LAST: beyond.checkpoint.name}
    if best and (new.checkpoints / best).is_dir():
        labels[BEST] = best
    write_labels(new, labels)
    record = folder.read_status()
    last = str(folder.checkpoints / beyond.checkpoint.name)
    found = None
    if BEST in labels and record.best is not None:
        metric, where, step = record.best.metric, str(folder.checkpoints / best), improved[-1].step
        found = BestCheckpoint(metric=metric, value=improved[-1].metrics[metric], step=step, checkpoint=where)
    there = {"step": manifest.step, "epoch": manifest.epoch, "metrics": manifest.metrics}
    new.write_status(record.model_copy(update={**there, "best": found, "last_checkpoint": last}))


def _copy_first(source: Path, target: Path, size: int) -> None:
    """The first ``size`` bytes of ``source``, or what there is of them."""
    with source.open("rb") as read, target.open("wb") as write:
        while size > 0 and (chunk := read.read(min(size, MEGABYTE))):
            write.write(chunk)
            size -= len(chunk)


def tell_rewind(aside: SetAside) -> Finding:
    """What the run's history says of it."""
    run = shlex.quote(aside.path.parent.parent.name)
    return Finding(
        level="info",
        title=f"Rewound from step {aside.reached:,} to step {aside.step:,}; {_steps(aside.step, aside.reached)} set aside.",
        advice=f"They take {format_bytes(aside.size)}. Restore in the window, or python -m training restore {run} in a terminal, brings them "
        "back to the bit until they are cleared away.",
        step=aside.step,
        set_aside=True,
    )


def _steps(step: int, reached: int) -> str:
    """What lies beyond ``step``, with its verb."""
    return f"steps {step + 1:,} to {reached:,} are" if reached > step + 1 else f"step {reached:,} is"


def restore(folder: RunFolder, aside: SetAside) -> SetAside | None:
    """Bring the run back to what it was when ``aside`` was set aside, to the bit; what it has trained since is set aside in its
    place, also steps that no checkpoint holds, and returned; None where that is nothing.

    Raises InputError, having changed nothing, while a process works on the run and where the folder cannot be written.
    """
    with _claim_alone(folder, aside):
        refuse_links(aside.path)
        step = _parting(folder, aside)
        reached = max(step, _came_beyond(folder, step)[0], count_rows(folder.series_file, STEP_ROW))
        newer = exchange(folder, step, reached, aside.name, lambda made: None, keep=reached > step)
    from training.runs.index import index_run  # loads SQLAlchemy, which few commands need

    index_run(folder)
    return newer if reached > step else None


def _parting(folder: RunFolder, aside: SetAside) -> int:
    """The last step that the run has in common with what was set aside: it may have gone back further since."""
    now, then = (History(place.events_file).poll() for place in (folder, RunFolder(aside.path)))
    shared = next((at for at, pair in enumerate(zip(now, then, strict=False)) if pair[0] != pair[1]), len(then))
    return min([aside.step, *(event.step for event in now[shared:] if isinstance(event, Rewound))])


def clear(folder: RunFolder, aside: SetAside) -> int:
    """Delete ``aside`` for good; returns how many bytes that gave back. Raises InputError as ``restore`` does."""
    with _claim_alone(folder, aside):
        size = own_bytes(aside.path)
        with explain_disk_errors(folder.status_file):
            remove(aside.path)
    return size


def throw_away(folder: RunFolder, aside: SetAside) -> RunFolder:
    """Move ``aside`` into the trash; returns where it lies. Raises InputError as ``restore`` does."""
    steps = (
        f"Steps {aside.step + 1:,} to {aside.reached:,}"
        if aside.reached > aside.step + 1
        else f"Step {aside.reached:,}"
    )
    with _claim_alone(folder, aside), explain_disk_errors(folder.status_file):
        trashed = trash_part(folder, aside.path, steps)
        with suppress(OSError):
            aside.path.parent.rmdir()  # where it holds nothing else
    return trashed


@contextmanager
def _claim_alone(folder: RunFolder, aside: SetAside) -> Iterator[None]:
    """Inside, the run is this process's, and ``aside`` is there."""
    finish_rewind(folder)
    refuse_any(folder.path)
    claim(folder.path)
    try:
        there = [(item.path, item.time) for item in list_set_aside(folder)]  # a name may be another one's by now
        if (aside.path, aside.time) not in there:
            raise InputError(f"The run {folder.id} has nothing set aside as {aside.name} any more.")
        yield
    finally:
        release(folder.path)
