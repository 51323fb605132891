"""``DataReport``: what a run tells of its data, for people and for later attempts; in ``data.json`` and in an event. No torch here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from training.facts import Layout, Target

_TOLD_CLASSES, _TOLD_FILES = 1000, 100


class _Record(BaseModel):
    """Anybody may have written it, and with other entries."""

    model_config = ConfigDict(strict=True, frozen=True)

    def record(self) -> dict[str, JsonValue]:
        """As JSON can hold it."""
        return self.model_dump(mode="json", exclude_none=True)


@dataclass(frozen=True)
class Skipped:
    """Something in the data that was left out; ``path`` is relative to the dataset, ``reason`` is for the person."""

    path: str
    reason: str


class DataSummary(_Record):
    """What a person wants to know about a dataset."""

    kind: str
    layout: Layout
    target: Target
    classes: tuple[str, ...]
    class_count: int = Field(default_factory=lambda entries: len(entries.get("classes", ())))
    """How many there are, where ``classes`` names only the first; early versions named all."""
    counts: dict[str, tuple[int, ...]]
    """Of each part the samples of each class or label, in their order; of other targets none."""
    target_mean: tuple[float, ...] = ()
    target_std: tuple[float, ...] = ()
    samples: dict[str, int]
    """Of each part."""
    shape: tuple[int, ...]
    skipped: tuple[Skipped, ...]
    """The first of ``skipped_total``."""
    skipped_total: int
    notes: tuple[str, ...]
    """Sentences about how the data is used."""
    excluded: tuple[int, ...] = ()
    """The numbers of the samples that an exclude list left out."""
    fingerprint: str


class InputStats(_Record):
    """Of the model's inputs, per channel or feature."""

    mean: tuple[float, ...]
    std: tuple[float, ...]


class Placement(_Record):
    """Where the samples stay while training: ``bytes`` of them; ``reason`` is a clause for the person, after "resident: " or
    "streamed: "."""

    mode: Literal["resident", "streamed"]
    reason: str
    workers: int = 0
    bytes: int


class TeacherRecord(_Record):
    """Which network teaches: where it lies, the SHA-256 of what decides its answers (``code`` of a person's file), and the
    size of its weights."""

    source: str
    digest: str
    code: str | None = None
    weights: str | None = None
    bytes: int | None = None


class DataReport(DataSummary):
    """The data of a run, once it is open."""

    normalisation: InputStats
    batches: Placement
    teacher: TeacherRecord | None = None

    def shorten(self) -> Self:
        """As events tell it: of very many classes and left-out files only the first, beside how many there are, and no numbers of
        samples."""
        counts = {part: counts[:_TOLD_CLASSES] for part, counts in self.counts.items()}
        classes, skipped = self.classes[:_TOLD_CLASSES], self.skipped[:_TOLD_FILES]
        return self.model_copy(update={"classes": classes, "counts": counts, "skipped": skipped, "excluded": ()})
