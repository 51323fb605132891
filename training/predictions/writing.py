"""How an evaluation is written: columns block by block, so that a killed one goes on where it was."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from training.errors import InputError, format_bytes
from training.predictions.reading import Evaluation, column_file, read_record
from training.predictions.record import DIGESTS, MEASURED, NAMES, RECORD, EvaluationRecord, Measured
from training.runs.records.forms import FileFacts
from training.runs.records.manifest import digest, seal
from training.system.atomic import write_bytes, write_text

Intervals = tuple[tuple[float | None, float | None, float | None], ...]


class EvaluationWriter:
    """Writes the evaluation that ``record`` announces into ``folder``; goes on behind ``record.done``, the samples that an earlier
    process wrote. Not for two processes at once."""

    def __init__(self, folder: Path, record: EvaluationRecord, durable: bool = True) -> None:
        """Without ``durable`` nothing waits for the disk: for what is written often and may get lost in a power cut. Raises OSError where it cannot be written, or the disk has no room for it."""
        self.folder = folder
        self.record = record
        self._durable = durable
        self._written = record.done
        self._files: dict[str, tuple[BinaryIO, int]] = {}
        free = shutil.disk_usage(next(path for path in (folder, *folder.parents) if path.exists())).free
        if record.done == 0 and free < record.bytes:
            needed = f"the evaluation takes {format_bytes(record.bytes)}, but only {format_bytes(free)} are free"
            raise OSError(errno.ENOSPC, needed)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            for name, form in record.columns.items():
                self._files[name] = _open_column(column_file(folder, name), record.samples, form.dtype, form.shape)
            if record.done == 0:
                self._write_record()
        except BaseException:
            self.close()
            raise

    @property
    def row_count(self) -> int:
        """How many samples are in the files; those behind ``record.done`` may get lost yet."""
        return self._written

    def append(self, block: Mapping[str, NDArray[Any]]) -> None:
        """Write the next samples: rows for each column, as many of every one. Raises OSError."""
        rows = len(next(iter(block.values())))
        if block.keys() != self._files.keys():
            raise ValueError(f"columns {sorted(block)} instead of {sorted(self._files)}")
        for name, values in block.items():
            form, (stream, start) = self.record.columns[name], self._files[name]
            if values.shape != (rows, *form.shape) or self._written + rows > self.record.samples:
                raise ValueError(f"{name}: {values.shape} behind {self._written} of {self.record.samples} samples")
            stream.seek(start + self._written * form.row_bytes)
            stream.write(np.ascontiguousarray(values, form.dtype).data.cast("B") if values.size else b"")
        self._written += rows

    def save(self) -> None:
        """Put what was written on the disk; from now on a new process goes on behind it."""
        for stream, _start in self._files.values():
            stream.flush()
            if self._durable:
                os.fsync(stream.fileno())
        self.record = self.record.model_copy(update={"done": self._written})
        self._write_record()

    def write_names(self, names: Sequence[str]) -> None:
        """What a person calls each sample."""
        write_text(self.folder / NAMES, json.dumps(list(names)) + "\n", self._durable)

    def write_digests(self, digests: Sequence[str]) -> None:
        """What an exclude list calls each sample."""
        write_text(self.folder / DIGESTS, "\n".join(digests) + "\n", self._durable)

    def write_file(self, name: str, content: bytes) -> None:
        """A file beside the columns, such as a table's rows."""
        write_bytes(self.folder / name, content, self._durable)

    def finish(
        self,
        metrics: Mapping[str, Measured],
        per_class: Mapping[str, Intervals] | None = None,
        notes: Sequence[str] = (),
    ) -> Evaluation:
        """All samples are written: note what they amount to, with the digest of every file."""
        if self._written != self.record.samples:
            raise ValueError(f"{self._written} of {self.record.samples} samples are written")
        self.save()
        self.close()
        files = [path for path in self.folder.iterdir() if path.name != RECORD and not path.name.startswith(".")]
        facts = {path.name: FileFacts(bytes=path.stat().st_size, sha256=digest(path)) for path in sorted(files)}
        self.record = self.record.model_copy(
            update={
                "metrics": dict(metrics),
                "per_class": dict(per_class or {}),
                "notes": tuple(notes),
                "files": facts,
            }
        )
        self._write_record()
        for path in self.folder.glob(f"{MEASURED}-*"):
            path.unlink()
        return Evaluation(self.folder, self.record)

    def close(self) -> None:
        """Let go of the files; what was saved stays."""
        for stream, _start in self._files.values():
            stream.close()
        self._files = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _write_record(self) -> None:
        _write_record(self.folder, self.record, self._durable)


def replace_metrics(
    evaluation: Evaluation, metrics: Mapping[str, Measured], per_class: Mapping[str, Intervals]
) -> Evaluation:
    """What the columns amount to was told with less before; they stay as they are. Raises OSError."""
    record = evaluation.record.model_copy(update={"metrics": dict(metrics), "per_class": dict(per_class)})
    _write_record(evaluation.folder, record, durable=False)
    return Evaluation(evaluation.folder, record)


def _write_record(folder: Path, record: EvaluationRecord, durable: bool) -> None:
    content = seal(json.loads(record.model_dump_json()))
    write_text(folder / RECORD, json.dumps(content, indent=1) + "\n", durable)


def find_unfinished(folder: Path, announced: EvaluationRecord) -> EvaluationRecord:
    """``announced`` with what of it an earlier process already did; with ``done`` 0, and nothing left in the folder, where that was
    another evaluation or cannot be read."""
    with suppress(InputError, OSError):
        known = read_record(folder)
        same = known.model_copy(update={"done": 0, "notes": announced.notes}) == announced.model_copy(
            update={"done": 0}
        )
        if same and not known.files and all(_has_room(folder, known, name) for name in known.columns):
            return known
    drop(folder)
    return announced.model_copy(update={"done": 0})


@contextmanager
def claim(folder: Path) -> Iterator[None]:
    """Inside, no other process or thread writes the evaluation in ``folder``. Raises InputError while another does, OSError where it
    cannot be written."""
    folder.parent.mkdir(exist_ok=True)
    lock = FileLock(folder.parent / f".{folder.name}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise InputError(f"{folder}: is being computed by another process; wait until it is done.") from error
    try:
        yield
    finally:
        lock.release()


def drop(folder: Path) -> None:
    """Delete an evaluation; the record first, so that half of one is none."""
    if folder.is_symlink():
        folder.unlink()
        return
    (folder / RECORD).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(find_beside(folder), ignore_errors=True)


def find_beside(folder: Path) -> Path:
    """Where the evaluation in ``folder`` is computed once more, unseen by readers."""
    return folder.with_name(f".{folder.name}.again")


def replace_evaluation(folder: Path, newer: Evaluation) -> Evaluation:
    """``newer``, moved into the place of the evaluation in ``folder``. Raises OSError."""
    old = folder.with_name(f".{folder.name}.old")
    drop(old)
    folder.rename(old)
    newer.folder.rename(folder)
    drop(old)
    return Evaluation(folder, newer.record)


def _has_room(folder: Path, record: EvaluationRecord, name: str) -> bool:
    path, form = column_file(folder, name), record.columns[name]
    header = _header(record.samples, form.dtype, form.shape)
    with path.open("rb") as stream:
        return (
            stream.read(len(header)) == header and path.stat().st_size == len(header) + record.samples * form.row_bytes
        )


def _header(samples: int, dtype: str, shape: tuple[int, ...]) -> bytes:
    """What numpy writes before such an array."""
    import io

    stream = io.BytesIO()
    described = {
        "descr": np.lib.format.dtype_to_descr(np.dtype(dtype)),
        "fortran_order": False,
        "shape": (samples, *shape),
    }
    np.lib.format.write_array_header_1_0(stream, described)
    return stream.getvalue()


def _open_column(path: Path, samples: int, dtype: str, shape: tuple[int, ...]) -> tuple[BinaryIO, int]:
    """The file of a column with room for all samples, and where the first begins. Written as a file, not mapped: a full disk is an
    error then, and not the end of the process."""
    header = _header(samples, dtype, shape)
    size = len(header) + samples * np.dtype(dtype).itemsize * int(np.prod(shape, dtype=np.int64))
    if not path.is_file() or path.stat().st_size != size:
        with path.open("wb") as stream:
            stream.write(header)
            stream.truncate(size)
    return path.open("rb+", buffering=0), len(header)
