"""Which network teaches a run that distils: what a run keeps of it, and what became of its files since."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from training.config import RunConfig
from training.config.rules.signature import read_signature
from training.config.rules.teacher_file import own_network
from training.config.sections.objective import Distillation
from training.errors import InputError
from training.runs.records.manifest import MANIFEST, digest
from training.runs.workspace import teacher_checkpoint
from training.system.untrusted import escape_unprintable


def teacher_as_it_is(config: RunConfig) -> dict[str, Any] | None:
    """What a run that began now would keep of its teacher, its size excepted; None where there is no teacher to be told by
    its files. Reads a file of weights to its end. Raises InputError and OSError for files that cannot be read."""
    objective = config.objective
    if not isinstance(objective, Distillation):
        return None
    network = own_network(objective)
    if network is None:
        checkpoint = teacher_checkpoint(Path(objective.teacher).expanduser().absolute())
        return {"source": str(checkpoint), "digest": digest(checkpoint / MANIFEST)}
    weights = Path(network.weights or "").expanduser().absolute()
    if not weights.is_file():
        return None
    code = read_signature(Path(network.path)).digest
    return {"source": network.path, "code": code, "weights": str(weights), "digest": digest(weights)}


def teacher_since(manifest: Mapping[str, Any], config: RunConfig) -> str:
    """What became of the teacher of the run whose checkpoint has ``manifest``, as ``config`` names it now, in a clause; "" where
    it is the same, or nothing can be told. Takes the time that reading a file of weights takes."""
    known = manifest.get("teacher")
    if not isinstance(known, Mapping):
        return ""
    try:
        return " and ".join(became_of(known, teacher_as_it_is(config)).values())
    except (InputError, OSError):  # said where the teacher is opened
        return ""


def became_of(before: object, now: object) -> dict[str, str]:
    """What became of a teacher's files, by setting, where they decide other answers than ``before``; both are records."""
    if not isinstance(before, Mapping) or not isinstance(now, Mapping):
        return {}
    found = {}
    if before.get("code") != now.get("code"):
        found["objective.teacher"] = f"{now['source']} has changed"
    if before.get("digest") != now.get("digest"):
        name, setting = (
            ("weights", "objective.teacher_weights") if "weights" in now else ("source", "objective.teacher")
        )
        same = before.get(name) == now[name]
        found[setting] = f"{now[name]} has " + (
            "changed" if same else f"taken the place of {escape_unprintable(str(before.get(name)), 300)}"
        )
    return found
