"""``proofs/KEY.json``: what some settings do in k steps from a checkpoint, beside the same steps without them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from training.runs.folder import RunFolder, read_json
from training.runs.records.forms import Count
from training.runs.storage import explain_disk_errors
from training.system.atomic import write_text

Verdict = Literal["cures", "helps", "no difference", "harms"]


class _Form(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", ser_json_inf_nan="constants")


class Measurement(_Form):
    """A validation at ``step``, counted from the beginning of the run."""

    step: Count
    metrics: dict[str, float]


class ArmResult(_Form):
    """The k steps of one arm. ``losses`` are those of training, step by step; ``fault`` says why it came to nothing ("" where it did not):
    its numbers were not finite, or the loss grew."""

    losses: tuple[float, ...]
    validations: tuple[Measurement, ...] = ()
    fault: str = ""
    seconds: float = 0.0

    @property
    def metrics(self) -> Mapping[str, float]:
        """Of the last validation."""
        return self.validations[-1].metrics if self.validations else {}


class OrderResult(_Form):
    """Both arms on one order of the data, the one that ``seed`` decides."""

    seed: int
    without: ArmResult
    with_: ArmResult


class Difference(_Form):
    """What the arm with the settings has more of ``metric`` than the one without, as a mean over the orders, between ``low`` and
    ``high`` with 95 % confidence, which are NaN where nothing tells. ``before`` and ``after`` are the means of the arms without and with
    them. ``better`` is None where the interval holds 0, or the difference is too small to matter."""

    metric: str
    before: float
    after: float
    value: float
    low: float = math.nan
    high: float = math.nan
    better: bool | None = None
    decides: bool = False


class Proof(_Form):
    """``finding`` is the key of the finding whose fix it is, "" of settings that were given. Both arms began at ``start``, after so many
    steps, for the reason in ``started``, and took ``steps``; ``seconds`` are of all arms together."""

    format: Literal[1] = 1
    key: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,79}$")]
    finding: str = ""
    title: str = ""
    fix: dict[str, JsonValue]
    start: Count
    started: str
    steps: Count
    orders: tuple[OrderResult, ...]
    verdict: Verdict
    sentence: str
    differences: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    created: float = 0.0


def write_proof(run: RunFolder, proof: Proof) -> None:
    """Keep it, whole or not at all. Raises TrainingError where the disk takes it not."""
    path = run.proofs / f"{proof.key}.json"
    with explain_disk_errors(path):
        write_text(path, json.dumps(proof.model_dump()) + "\n")


def read_proof(run: RunFolder, key: str) -> Proof | None:
    """The one of that name; None where there is none, or it is damaged."""
    with suppress(ValidationError):
        return Proof.model_validate(read_json(run.proofs / f"{key}.json"))
    return None


def read_proofs(run: RunFolder) -> list[Proof]:
    """All that are whole, the newest last."""
    try:
        names = [path.stem for path in run.proofs.glob("*.json")]
    except OSError:
        return []
    found = (read_proof(run, name) for name in names)
    return sorted((proof for proof in found if proof is not None), key=lambda proof: proof.created)
