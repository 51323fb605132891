"""The data a run began with: what it held and which sample is in which part, compared on every later attempt."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from pydantic import JsonValue
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from training.data_report import TeacherRecord
from training.embedded_config import EmbeddedConfig
from training.engine.session import Session
from training.errors import InputError
from training.runs.folder import RunFolder
from training.runs.records.forms import Manifest
from training.runs.records.manifest import read_sealed, seal
from training.runs.records.teachers import became_of, read_teacher
from training.system.atomic import write_bytes, write_text


def require_data_of(session: Session, report: EmbeddedConfig | None) -> None:
    """Raise InputError where the data is not that of the ``report``."""
    if report is not None and (other := report.explain_other_data(session.data.source.fingerprint)):
        raise InputError(
            f"{other} Give the folder or file with the same content, for example --set dataset.path=..., or save the "
            "configuration by the link in the report, and train that on what there is."
        )


def check_data(folder: RunFolder, session: Session, manifest: Manifest | None) -> None:
    """Note the dataset, its split and the teacher, or compare them with what the run began with; raises InputError when they
    differ. ``manifest`` is that of the checkpoint it goes on from, which knows the teacher, too; None where there is none.

    Files of a folder that are lost or damaged are written again: the data itself and the other file tell what they said.
    """
    known, record = read_sealed(folder.data_file), session.data.report.record()
    if known:
        _compare_data(known, record)
    teacher = manifest.teacher if manifest is not None and "teacher" not in known else read_teacher(known)
    refuse_other_teacher(teacher, session.data.report.teacher)
    parts = {name: indices.cpu().contiguous() for name, indices in session.data.splits.items()}
    digest = hashlib.sha256(b"".join(parts[name].numpy().tobytes() for name in sorted(parts))).hexdigest()
    _check_split(folder, parts, known.get("split_sha256"), digest)
    write_text(folder.data_file, json.dumps(seal({**record, "split_sha256": digest}), indent=1) + "\n")


def _compare_data(known: Mapping[str, JsonValue], new: Mapping[str, JsonValue]) -> None:
    if known.get("fingerprint") == new["fingerprint"] and known.get("classes") == new["classes"]:
        return
    differing = [
        f"{name} were {known[name]} and are {new[name]}"
        for name in ("classes", "samples")
        if name in known and name in new and known[name] != new[name]
    ]
    raise InputError(
        "The dataset is not the one this run was trained on"
        + (f" ({'; '.join(differing)[:300]})" if differing else " (the content of its files differs)")
        + ". Put the old files back, or start a new run or a branch with the new ones."
    )


def refuse_other_teacher(before: TeacherRecord | None, now: TeacherRecord | None) -> None:
    """Raise InputError where the teacher that a run is about to go on with would give other answers than the one it began
    with: it would be another run."""
    became = became_of(before, now)
    if became:
        raise InputError(
            f"{next(iter(became))}: {' and '.join(became.values())}, so it is another teacher than the run began with; put the old "
            "one back, or make a branch, which may learn from another."
        )


def _check_split(folder: RunFolder, parts: dict[str, Tensor], known: object, digest: str) -> None:
    """``known`` is the digest of the run's first split, None where it is lost; ``digest`` that of ``parts``."""
    try:
        written = load_file(folder.splits_file)
    except (OSError, SafetensorError):
        written = {}
    same = set(written) == set(parts) and all(written[name].equal(parts[name]) for name in parts)
    if known not in (digest, None) or (known is None and written and not same):
        raise InputError(f"{folder.splits_file}: the split of the data differs from the one this run began with.")
    if not same:
        write_bytes(folder.splits_file, save(parts))
