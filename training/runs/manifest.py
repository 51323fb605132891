"""Checkpoints as seen without torch: their manifests, labels and digests."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from training.atomic import write_text
from training.errors import CheckpointError
from training.reading import MEGABYTE, visible
from training.runs.folder import RunFolder, read_json
from training.runs.record import is_count, is_metrics, is_time
from training.runs.set_aside import finish_rewind

MANIFEST = "manifest.json"
FORMAT = 1
WEIGHTS = "model.safetensors"
STATE = "state.pt"
LAST, BEST = "last", "best"
NO_BEST = "no checkpoint is the best one now: the run has not saved one at a better validation yet, or that one is gone"
_CHECKPOINT_NAME = re.compile("step-[0-9]{8,16}")
_PLAIN_NAME = re.compile(r"[\w.-]{1,100}", re.ASCII)
_MOST_MANIFEST = 16 * MEGABYTE


class NewerFormat(CheckpointError):
    """A checkpoint that this version cannot read, and a newer one can."""


@dataclass(frozen=True)
class CheckpointInfo:
    """A checkpoint in a list; ``size`` in bytes, ``time`` in seconds since 1970, ``metrics`` of the last validation before
    it, at ``metrics_step`` (None: an earlier version did not say)."""

    path: Path
    step: int
    epoch: int
    time: float
    size: int
    metrics: Mapping[str, float]
    labels: tuple[str, ...]
    planned: bool = False  # saved by the run's own rules, not because a person asked
    metrics_step: int | None = None

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.path.name

    @property
    def validated(self) -> bool:
        """Whether ``metrics`` are its own, not those of an earlier step."""
        return self.metrics_step in (None, self.step)


def checkpoint_name(step: int) -> str:
    """Folder name of the checkpoint at ``step``; sorts by step."""
    return f"step-{step:08d}"


def checkpoint_step(path: Path) -> int:
    """The step that a checkpoint's name tells."""
    return int(path.name.removeprefix("step-"))


def digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def seal(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """``manifest`` with a digest of its own content, so that a changed byte in it is noticed too."""
    return {**manifest, "seal": _seal_of(manifest)}


def _seal_of(manifest: Mapping[str, Any]) -> str:
    content = {key: value for key, value in manifest.items() if key != "seal"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _is_sealed(manifest: Mapping[str, Any]) -> bool:
    try:
        return bool(manifest.get("seal") == _seal_of(manifest))
    except RecursionError:  # what was just shallow enough to be read may be too deep to be written
        return False


def read_sealed(path: Path) -> dict[str, Any]:
    """The record in ``path``; empty when it is missing, damaged, or not what was sealed when it was written."""
    record = read_json(path)
    return record if "seal" not in record or _is_sealed(record) else {}


def read_manifest(checkpoint: Path) -> dict[str, Any]:
    """The manifest of ``checkpoint``; raises CheckpointError when it is missing, damaged or of another format."""
    if not checkpoint.is_dir():
        raise CheckpointError(f"{checkpoint}: there is no checkpoint folder here; check the path.")
    manifest = read_json(checkpoint / MANIFEST, _MOST_MANIFEST)
    if not manifest:
        raise CheckpointError(f"{checkpoint}: its {MANIFEST} is missing or damaged; choose another checkpoint.")
    given = manifest.get("format")
    shown = visible(repr(given), 60)
    if type(given) is int and given > FORMAT:
        raise NewerFormat(
            f"{checkpoint}: was written by a newer Trainwright, in format {shown}; this one reads {FORMAT}.",
            "Update Trainwright.",
        )
    if given != FORMAT:
        raise CheckpointError(f"{checkpoint}: its {MANIFEST} tells of a format {shown}; choose another checkpoint.")
    if not _is_sealed(manifest):
        raise CheckpointError(f"{checkpoint}: its {MANIFEST} was changed or damaged; choose another checkpoint.")
    fault = _fault(manifest)
    if fault:
        raise CheckpointError(f"{checkpoint}: its {MANIFEST} {fault}; choose another checkpoint.")
    return manifest


def _fault(manifest: Mapping[str, Any]) -> str:
    """What is wrong with a manifest whose seal is right: whoever wrote it may have meant harm. "" when it can be used."""
    files = manifest.get("files")
    if not isinstance(files, dict) or not {WEIGHTS, STATE} <= set(files):
        return "is incomplete"
    if not all(is_count(manifest.get(name)) for name in ("step", "epoch")):
        return "is incomplete"
    if "metrics_step" in manifest and not is_count(manifest["metrics_step"]):
        return "holds a step that is no number"
    if not is_time(manifest.get("time", 0.0)) or not is_metrics(manifest.get("metrics", {})):
        return "holds a time or a metric that is no number"
    data = manifest.get("data")
    if not isinstance(manifest.get("config"), dict) or not isinstance(data, dict):
        return "does not tell settings and data"
    if not isinstance(data.get("fingerprint"), str):
        return "does not tell which data was trained on"
    for name, facts in files.items():
        if not _PLAIN_NAME.fullmatch(name) or Path(name).name != name:
            return "names a file outside the checkpoint"
        if not isinstance(facts, dict) or not is_count(facts.get("bytes")) or not isinstance(facts.get("sha256"), str):
            return "does not tell sizes and digests"
    return ""


def verify(checkpoint: Path) -> dict[str, Any]:
    """Check every file of ``checkpoint`` against its manifest (size, then SHA-256) and return the manifest.

    Raises CheckpointError naming the first file that is missing or differs. Nothing is loaded.
    """
    manifest = read_manifest(checkpoint)
    while fault := _damage(checkpoint, manifest["files"]):
        now = read_manifest(checkpoint)
        if now == manifest:
            raise CheckpointError(f"{checkpoint}: {fault}; choose another checkpoint.")
        manifest = now  # the step was saved again while we looked
    return manifest


def _damage(checkpoint: Path, files: Mapping[str, Any]) -> str:
    """What is wrong with the first file that is not what the manifest says of it; "" when all are."""
    for name, facts in files.items():
        path = checkpoint / name
        if path.is_symlink() or not path.is_file():
            return f"{name} is missing"
        try:
            size = path.stat().st_size
            if size != facts.get("bytes"):
                return f"{name} has {size} bytes instead of {facts.get('bytes')}; it is damaged"
            if digest(path) != facts.get("sha256"):
                return f"{name} does not match its digest; it is damaged"
        except OSError as error:
            return f"{name} cannot be read ({error.strerror or error})"
    return ""


def read_labels(folder: RunFolder) -> dict[str, Any]:
    """``{"last": name, "best": name}``; labels are pointers to checkpoints of this run, never copies."""
    labels = read_json(folder.labels_file)
    return {label: name for label, name in labels.items() if isinstance(name, str) and _CHECKPOINT_NAME.fullmatch(name)}


def best_checkpoint(folder: RunFolder) -> str:
    """The name of the run's best checkpoint, else of its last; empty where it has none yet. Raises CheckpointError where it has
    some and does not tell any more."""
    finish_rewind(folder)
    labels = read_labels(folder)
    name = str(labels.get(BEST) or labels.get(LAST) or "")
    known = checkpoint_folders(folder)
    if not name and known:
        raise CheckpointError(
            f"{folder.labels_file}: is lost or damaged, so the best checkpoint is not known; name one, such as {known[0]}."
        )
    return name


def write_labels(folder: RunFolder, labels: Mapping[str, Any]) -> None:
    """Replace the labels atomically."""
    write_text(folder.labels_file, json.dumps(dict(labels), indent=1) + "\n")


def checkpoint_folders(folder: RunFolder) -> list[Path]:
    """Everything named like a finished checkpoint, newest first, whole or not."""
    try:
        paths = list(folder.checkpoints.iterdir())
    except (FileNotFoundError, NotADirectoryError):  # also for a moment while the run goes back
        return []
    return sorted((path for path in paths if _CHECKPOINT_NAME.fullmatch(path.name)), reverse=True)


Stamp = tuple[int, int, int]


def list_checkpoints(
    folder: RunFolder, known: dict[Path, tuple[Stamp, CheckpointInfo]] | None = None
) -> list[CheckpointInfo]:
    """Complete checkpoints of a run, newest first; half-written or foreign folders are passed over.

    ``known`` is for whoever asks again and again: manifests it tells of are not read once more, and it is brought up to
    date.
    """
    labels = read_labels(folder)
    found: dict[Path, tuple[Stamp, CheckpointInfo]] = {}
    for path in checkpoint_folders(folder):
        try:
            file = os.stat(path / MANIFEST)
            stamp = file.st_mtime_ns, file.st_size, file.st_ino
            before = known.get(path) if known is not None else None
            info = before[1] if before is not None and before[0] == stamp else _info(path, read_manifest(path))
        except (CheckpointError, OSError):
            continue
        carried = tuple(label for label, name in labels.items() if name == path.name)
        found[path] = stamp, info if info.labels == carried else replace(info, labels=carried)
    if known is not None:
        known.clear()
        known.update(found)
    return [info for _stamp, info in found.values()]


def _info(path: Path, manifest: Mapping[str, Any]) -> CheckpointInfo:
    return CheckpointInfo(
        path=path,
        step=manifest["step"],
        epoch=manifest["epoch"],
        time=float(manifest.get("time", 0.0)),
        size=sum(int(facts.get("bytes", 0)) for facts in manifest["files"].values()),
        metrics=dict(manifest.get("metrics", {})),
        labels=(),
        planned=bool(manifest.get("planned")),
        metrics_step=manifest.get("metrics_step"),
    )
