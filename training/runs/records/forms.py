"""Records that others than this program may have written or edited: a status record, a manifest."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
)

from training.data_report import TeacherRecord
from training.environment import fall_back

Count = Annotated[int, Field(ge=0, le=1 << 53)]


class Record(BaseModel):
    """More entries than those named here may be in it."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True, ser_json_inf_nan="constants")

    def dump(self) -> dict[str, JsonValue]:
        """What was written or read, and no defaults, as JSON can hold it."""
        return self.model_dump(exclude_unset=True)


class BestCheckpoint(Record):
    metric: str
    value: float
    step: Count
    checkpoint: str | None = None


class Parent(Record):
    """What a branch began with; ``checkpoint`` is None where the parent had none yet."""

    run: str = ""
    checkpoint: str | None = None


class StatusRecord(Record):
    """``status.json``. Times are seconds since 1970; ``status`` is "damaged" where neither it nor the run's configuration can be
    read, "" where there is neither."""

    run: str
    name: str = ""
    folder: str = ""
    status: str = "stopped"
    step: Count = 0
    epoch: Count = 0
    best: BestCheckpoint | None = None
    last_checkpoint: str | None = None
    metrics: dict[str, float] = {}
    skipped_steps: Count = 0
    samples_per_second: float = 0.0
    reason: str | None = None
    advice: str | None = None
    fix: dict[str, JsonValue] = {}
    epochs: Count | None = None
    total_steps: Count | None = None
    dataset: str = ""
    model: str = ""
    parent: Parent | None = None
    created: float = 0.0
    updated: float = 0.0
    ended: float | None = None
    seconds: float | None = None  # of work; an earlier version did not count them

    @field_validator(
        "folder", "skipped_steps", "advice", "fix", "dataset", "model", "updated", "ended", "seconds", mode="wrap"
    )
    @classmethod
    def _pass_over(cls, value: Any, validate: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        """What only describes the run does not take the rest of its record along."""
        return fall_back(cls, value, validate, info)


class SetAsideRecord(Record):
    """``set_aside.json``: the run went back to ``step`` at ``time``; what lies beside had come to ``reached``."""

    step: Count
    reached: Count
    time: float


class TrashedPart(Record):
    """``part.json`` of a folder in the trash: ``content`` beside it is what lay in ``place`` of the run in ``run``."""

    run: str
    name: str  # what the run was called
    place: str
    title: str  # what it is: "steps 21 to 40"


class ExchangePlan(Record):
    """``unfinished.json``: the state ``source`` takes the run's place; ``files`` are those it has, ``keep`` whether the other
    state stays."""

    source: str
    files: list[str]
    keep: bool


class FileFacts(Record):
    bytes: Count
    sha256: str


class TrainedData(Record):
    """What the network was trained on; with it lies ``training.facts.DataFacts``."""

    fingerprint: str
    training_samples: Count | None = None
    names: list[str] = []
    missing: bool = False
    mean: list[float] = []
    std: list[float] = []


class OptimizerForm(Record):
    """How the optimizer computes: "fused", "foreach", "for-loop" ..."""

    implementation: str = ""
    device: str = ""


class Manifest(Record):
    """``manifest.json`` of a checkpoint; None is what an earlier version did not say."""

    step: Count
    epoch: Count
    time: Annotated[float, Field(ge=0.0, le=1e11)] = 0.0  # seconds since 1970, as far as calendars go
    metrics: dict[str, float] = {}
    metrics_step: Count | None = None
    planned: bool = False
    averaged: bool = False
    versions: dict[str, str] = {}
    config: dict[str, JsonValue]
    data: TrainedData
    teacher: TeacherRecord | None = None
    threads: int | None = None
    evaluation_batch_size: int | None = None
    channels_last: bool | None = None
    optimizer: OptimizerForm = OptimizerForm()
    files: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_][\w.-]*$")], FileFacts] = {}
