"""Evaluations as others read them: columns mapped from their files, never changed."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from training.errors import InputError
from training.predictions.record import DIGESTS, FORMAT, NAMES, RECORD, ROWS, EvaluationRecord
from training.runs.folder import RunFolder, read_json
from training.runs.records.manifest import digest, seal
from training.system.newer import UPDATE, explain_format, is_later_format
from training.system.untrusted import MEGABYTE, escape_unprintable, parse_json, read_bytes

if TYPE_CHECKING:
    import polars

AGAIN = "evaluate the checkpoint again (python -m training evaluate --again)."
_MOST_NAMES = 4096 * MEGABYTE
_PARSING = threading.Lock()
"""NumPy has Python parse the head of a file, which Python 3.11 does not bear in two threads at once (SystemError: "AST constructor recursion
depth mismatch"); the window reads evaluations in the background, too."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What ``read`` found in ``folder``. Row i of everything is the i-th evaluated sample, ``index`` its number in the data."""

    folder: Path
    record: EvaluationRecord

    def has(self, name: str) -> bool:
        """Whether there is such a column."""
        return name in self.record.columns

    def column(self, name: str) -> NDArray[Any]:
        """(samples, ...) of the record's form, mapped from the file and read-only. Raises KeyError for a name that is not in the record,
        InputError for a file that is damaged or gone."""
        form, path = self.record.columns[name], column_file(self.folder, name)
        try:
            if path.is_symlink() or not path.is_file():
                raise InputError(f"{path}: is missing; {AGAIN}")
            with _PARSING:
                array: NDArray[Any] = np.lib.format.open_memmap(path, mode="r")
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: cannot be read ({error}); {AGAIN}") from error
        if array.dtype != form.dtype or array.shape != (self.record.samples, *form.shape):
            raise InputError(f"{path}: holds another array than the evaluation's; {AGAIN}")
        return array

    @cached_property
    def names(self) -> Sequence[str]:
        """What a person calls each sample: its file, its window of the text, or its number."""
        path = self.folder / NAMES
        if NAMES not in self.record.files and not path.exists():
            return _Numbered(self.column("index"))
        try:
            given = parse_json(read_bytes(path, _MOST_NAMES))
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: cannot be read ({error}); {AGAIN}") from error
        if not isinstance(given, list) or len(given) != self.record.samples or not all(map(_is_text, given)):
            raise InputError(f"{path}: does not name each sample; {AGAIN}")
        return given

    @cached_property
    def digests(self) -> Sequence[str] | None:
        """What an exclude list (``training.exclude_list``) calls each sample; None of data that has no such list, and of an evaluation
        of an earlier version."""
        path = self.folder / DIGESTS
        if DIGESTS not in self.record.files:
            return None
        try:
            found = read_bytes(path, _MOST_NAMES).decode("ascii").split()
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: cannot be read ({error}); {AGAIN}") from error
        if len(found) != self.record.samples:
            raise InputError(f"{path}: has not a digest for each sample; {AGAIN}")
        return found

    @cached_property
    def rows(self) -> polars.DataFrame | None:
        """The rows of a table as its file has them; None of other data."""
        path = self.folder / ROWS
        if not path.is_file():
            return None
        import polars  # no other data waits for it

        try:
            rows = polars.read_parquet(path)
        except (OSError, polars.exceptions.PolarsError) as error:
            raise InputError(f"{path}: cannot be read ({error}); {AGAIN}") from error
        if len(rows) != self.record.samples:
            raise InputError(f"{path}: has not a row for each sample; {AGAIN}")
        return rows


class _Numbered(Sequence[str]):
    """Samples that nobody named."""

    def __init__(self, index: NDArray[np.int64]) -> None:
        self._index = index

    def __len__(self) -> int:
        return len(self._index)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [f"sample {number}" for number in self._index[place].tolist()]
        return f"sample {int(self._index[place])}"


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def column_file(folder: Path, name: str) -> Path:
    """Where a column lies."""
    return folder / f"{name}.npy"


def read_record(folder: Path) -> EvaluationRecord:
    """What ``evaluation.json`` in ``folder`` says, finished or not. Raises InputError."""
    path = folder / RECORD
    data = read_json(path)
    if not data or data != seal(data):
        missing = "there is no evaluation here" if not path.exists() else "is damaged or was changed"
        raise InputError(f"{path}: {missing}; {AGAIN}")
    if is_later_format(data.get("format"), FORMAT):
        raise InputError(explain_format(path, data.get("format"), FORMAT), UPDATE)
    if data.get("format") != FORMAT:
        given = escape_unprintable(repr(data.get("format")), 60)
        raise InputError(f"{path}: was written in format {given}, and this version reads {FORMAT}; {AGAIN}")
    try:
        return EvaluationRecord.model_validate(data)
    except ValidationError as error:
        entry = ".".join(map(str, error.errors()[0]["loc"]))
        raise InputError(f"{path}: does not tell {entry or 'what it should'}; {AGAIN}") from error


def read(folder: Path) -> Evaluation:
    """The finished evaluation in ``folder``; raises InputError, in one sentence, where it is none. Columns are opened when they are
    asked for, and digests are for ``find_damage``."""
    record = read_record(folder)
    if not record.complete:
        raise InputError(
            f"{folder}: {record.done:,} of {record.samples:,} samples are evaluated; let it finish "
            f"(python -m training evaluate)."
        )
    return Evaluation(folder, record)


def find_damage(evaluation: Evaluation) -> str:
    """What is wrong with the first file that is not what the record says; "" where all are."""
    wanted = {column_file(evaluation.folder, name).name for name in evaluation.record.columns}
    if missing := wanted - evaluation.record.files.keys():
        return f"{min(missing)} has no digest"
    for name, facts in evaluation.record.files.items():
        path = evaluation.folder / name
        try:
            if Path(name).name != name or path.is_symlink() or path.stat().st_size != facts.bytes:
                return f"{escape_unprintable(name, 60)} has another size"
            if digest(path) != facts.sha256:
                return f"{name} does not match its digest"
        except OSError as error:
            return f"{name} cannot be read ({error.strerror or error})"
    return ""


def list_evaluations(run: RunFolder) -> list[Evaluation]:
    """The finished evaluations of a run by their steps, the newest first; of each step validation, test, train, then others."""
    return sorted(
        _find(run), key=lambda found: (-found.record.step, _PLACES.get(found.record.on, 3), found.folder.name)
    )


_PLACES = {"validation": 0, "test": 1, "train": 2}


def _find(run: RunFolder) -> Iterable[Evaluation]:
    for _step, folder in run.evaluation_folders():
        with suppress(InputError):  # unfinished, damaged or of another version
            yield read(folder)
