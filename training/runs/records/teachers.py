"""Which network teaches a run that distils: what a run keeps of it, and what became of its files since."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue, ValidationError

from training.config import RunConfig
from training.config.rules.signature import read_signature
from training.config.rules.teacher_file import own_network
from training.config.sections.objective import Distillation
from training.data_report import TeacherRecord
from training.errors import InputError
from training.runs.records.forms import Manifest
from training.runs.records.manifest import MANIFEST, digest
from training.runs.workspace import teacher_checkpoint
from training.system.untrusted import escape_unprintable
from training.typed_paths import parse_path


def teacher_as_it_is(config: RunConfig) -> TeacherRecord | None:
    """What a run that began now would keep of its teacher, its size excepted; None where there is no teacher to be told by
    its files. Reads a file of weights to its end. Raises InputError and OSError for files that cannot be read."""
    objective = config.objective
    if not isinstance(objective, Distillation):
        return None
    network = own_network(objective)
    if network is None:
        checkpoint = teacher_checkpoint(parse_path(objective.teacher).absolute())
        return TeacherRecord(source=str(checkpoint), digest=digest(checkpoint / MANIFEST))
    weights = parse_path(network.weights or "").absolute()
    if not weights.is_file():
        return None
    code = read_signature(Path(network.path)).digest
    return TeacherRecord(source=network.path, code=code, weights=str(weights), digest=digest(weights))


def teacher_since(manifest: Manifest, config: RunConfig) -> str:
    """What became of the teacher of the run whose checkpoint has ``manifest``, as ``config`` names it now, in a clause; "" where
    it is the same, or nothing can be told. Takes the time that reading a file of weights takes."""
    if manifest.teacher is None:
        return ""
    try:
        return " and ".join(became_of(manifest.teacher, teacher_as_it_is(config)).values())
    except (InputError, OSError):  # said where the teacher is opened
        return ""


def became_of(before: TeacherRecord | None, now: TeacherRecord | None) -> dict[str, str]:
    """What became of a teacher's files, by setting, where they decide other answers than ``before``."""
    if before is None or now is None:
        return {}
    found = {}
    if before.code != now.code:
        found["objective.teacher"] = f"{now.source} has changed"
    if before.digest != now.digest:
        own = now.weights is not None
        old, new = (before.weights, now.weights) if own else (before.source, now.source)
        what = "changed" if old == new else f"taken the place of {escape_unprintable(str(old), 300)}"
        found["objective.teacher_weights" if own else "objective.teacher"] = f"{new} has {what}"
    return found


def read_teacher(report: Mapping[str, JsonValue]) -> TeacherRecord | None:
    """The teacher that ``data.json`` tells of; None where it tells of none."""
    try:
        return TeacherRecord.model_validate(report.get("teacher"))
    except ValidationError:
        return None
