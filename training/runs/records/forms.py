"""What records must say that others than this program may have written or edited: a status record, a manifest."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=0, le=1 << 53)]


class _Record(BaseModel):
    """More entries than those named here may be in it."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)


class BestCheckpoint(_Record):
    metric: str
    value: float
    step: Count
    checkpoint: str | None = None


class StatusRecord(_Record):
    """``status.json``."""

    run: str
    name: str = ""
    status: str = "stopped"
    step: Count = 0
    epoch: Count = 0
    epochs: Count | None = None
    total_steps: Count | None = None
    best: BestCheckpoint | None = None
    last_checkpoint: str | None = None
    metrics: dict[str, float] = {}
    created: float = 0.0
    samples_per_second: float = 0.0
    reason: str | None = None
    parent: dict[str, Any] | None = None


class FileFacts(_Record):
    bytes: Count
    sha256: str


class DataFacts(_Record):
    fingerprint: str


class Manifest(_Record):
    """``manifest.json`` of a checkpoint, without the names of its files."""

    step: Count
    epoch: Count
    time: Annotated[float, Field(ge=0.0, le=1e11)] = 0.0  # seconds since 1970, as far as calendars go
    metrics: dict[str, float] = {}
    metrics_step: Count | None = None
    config: dict[str, Any]
    data: DataFacts
    files: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_][\w.-]*$")], FileFacts]
