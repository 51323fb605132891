"""``exports.jsonl`` in a run's folder: what was exported of it, and where that went."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from training.runs.folder import RunFolder
from training.system.untrusted import MEGABYTE, UnfitFile, parse_json, read_bytes

FILE: Final = "exports.jsonl"
_MOST_BYTES: Final = 16 * MEGABYTE
_MOST: Final = 10_000
_MEASURED: Final = ("before", "after", "low", "high")


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", ser_json_inf_nan="constants")


class ReadSummary(_Record):
    """How many samples the Python ``file`` beside an export read (``what``: "image files", "rows", "texts"), and the largest difference from
    what training read."""

    file: str = ""
    samples: int
    what: str = ""
    largest: float


class ProofSummary(_Record):
    """What the proof of an export found (``proof.json`` beside it says more): on how many samples, of which part ("": made up), how many were
    ``drawn`` of it (None in older notes: all but the worst) and beside it of the ``trained``, the ``worst`` and how they were ``chosen``, the largest difference of a score and
    the 99th percentile, the share of the ``answers`` that are the model's, None of those that are numbers, how many are ``differing``, the
    first metric before and after with the interval of its difference, and what ``preprocess.py`` read. ``latency_ms`` is for a sample
    alone."""

    samples: int
    drawn: int | None = None
    trained: int = 0
    worst: int = 0
    chosen: str = ""
    part: str
    max_difference: float
    p99: float | None = None
    agreement: float | None = None
    answers: int = 0
    differing: int = 0
    metric: str = ""
    before: float | None = None
    after: float | None = None
    low: float | None = None
    high: float | None = None
    latency_ms: float | None = None
    preprocess: ReadSummary | None = None

    @classmethod
    def of(cls, proof: Mapping[str, Any]) -> Self:
        """Of what ``proof.json`` says."""
        metrics: Mapping[str, Mapping[str, float]] = proof.get("metrics", {})
        name = next(iter(metrics), "")
        metric = metrics.get(name, {})
        return cls(
            samples=proof["samples"],
            drawn=proof["drawn"],
            trained=proof.get("trained", 0),
            worst=proof["worst"],
            chosen=proof.get("chosen", ""),
            part=proof["part"],
            max_difference=proof["difference"]["largest"],
            p99=proof["difference"]["p99"],
            preprocess=proof.get("preprocess"),
            agreement=proof.get("agreement"),
            answers=proof.get("answers", 0),
            differing=proof.get("differing", 0),
            metric=name,
            latency_ms=proof["latency_ms"]["alone"],
            **{key: metric.get(key) for key in _MEASURED},
        )

    def proof(self) -> dict[str, Any]:
        """As ``proof.json`` says it, for ``training.verify.check.describe``."""
        told: dict[str, Any] = {
            "drawn": self.samples - self.worst if self.drawn is None else self.drawn,
            "trained": self.trained,
            "worst": self.worst,
            "chosen": self.chosen,
            "part": self.part,
            "difference": {"largest": self.max_difference, "p99": self.p99},
            "preprocess": self.preprocess and self.preprocess.model_dump(),
        }
        if self.agreement is not None:
            told |= {"agreement": self.agreement, "answers": self.answers, "differing": self.differing}
        measured = {key: getattr(self, key) for key in _MEASURED}
        if None not in measured.values():
            told["metrics"] = {self.metric: measured}
        return told


class ExportNote(_Record):
    """An export: its main file, the format as ``--to`` names it, "int8" where it was ``quantized``, the size with its weights, the digest
    of the file, of which step of the run, when (seconds since 1970), and its proof, None of a script. A ``hidden`` one was taken off the list; noted again without, it is back."""

    path: str
    format: str
    quantized: str = ""
    bytes: int = Field(ge=0)
    sha256: str
    step: int = Field(ge=0)
    checkpoint: str
    time: float
    proof: ProofSummary | None = None
    hidden: bool = False

    @property
    def exists(self) -> bool:
        """Whether there is still a file at its path."""
        return Path(self.path).is_file()


def note_export(run: RunFolder, note: ExportNote) -> str:
    """Add it; returns why that could not be, as a sentence with a space before it, "" where it could."""
    try:
        with (run.path / FILE).open("ab+") as stream:
            torn = stream.tell() and not _ends_with_line(stream)
            stream.write((b"\n" if torn else b"") + note.model_dump_json().encode() + b"\n")
    except OSError as error:
        return f" The run could not note it ({error.strerror or error})."
    return ""


def _ends_with_line(stream: object) -> bool:
    stream.seek(-1, 2)  # type: ignore[attr-defined]
    return bool(stream.read(1) == b"\n")  # type: ignore[attr-defined]


def read_exports(run: RunFolder) -> list[ExportNote]:
    """The exports of a run, the newest first; of several at the same path the newest alone. Lines that are none are passed over."""
    try:
        lines = read_bytes(run.path / FILE, _MOST_BYTES).splitlines()
    except (OSError, UnfitFile):
        return []
    found: dict[str, ExportNote] = {}
    for line in reversed(lines[-_MOST:]):
        try:
            note = ExportNote.model_validate(parse_json(line))
        except (ValueError, ValidationError):
            continue
        found.setdefault(note.path, note)
    return [note for note in found.values() if not note.hidden]
