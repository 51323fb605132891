"""Checkpoints as seen without torch: their manifests, labels and digests."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from pydantic import JsonValue, ValidationError

from training.errors import CheckpointError
from training.runs.folder import RunFolder, read_json
from training.runs.records.forms import FileFacts, Manifest
from training.runs.set_aside import finish_rewind
from training.system.atomic import write_text
from training.system.newer import UPDATE, explain_format, is_later_format
from training.system.untrusted import MEGABYTE, escape_unprintable

MANIFEST = "manifest.json"
FORMAT = 1
WEIGHTS = "model.safetensors"
STATE = "state.pt"
LAST, BEST = "last", "best"
NO_BEST = "no checkpoint is the best one now: the run has not saved one at a better validation yet, or that one is gone"
_CHECKPOINT_NAME = re.compile("step-[0-9]{8,16}")
_MOST_MANIFEST = 16 * MEGABYTE


class NewerFormat(CheckpointError):
    """A checkpoint that this version cannot read, and a newer one can."""


class MissingCheckpoint(CheckpointError):
    """No folder is, or at that moment was, where a checkpoint was looked for."""


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
    labels: tuple[str, ...] = ()
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


def seal(record: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """``record`` with a digest of its own content, so that a changed byte in it is noticed too."""
    content = {key: value for key, value in record.items() if key != "seal"}
    return {**content, "seal": hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()}


def read_sealed(path: Path) -> dict[str, JsonValue]:
    """The record in ``path``; empty when it is missing, damaged, or not what was sealed when it was written."""
    record = read_json(path)
    return record if "seal" not in record or record == seal(record) else {}


def read_manifest(checkpoint: Path) -> Manifest:
    """The manifest of ``checkpoint``; raises CheckpointError when it is missing, damaged or of another format."""
    if not checkpoint.is_dir():
        raise MissingCheckpoint(
            f"{checkpoint}: there is no checkpoint folder here; check the path (a run keeps its newest checkpoints and the best one)."
        )
    record = read_json(checkpoint / MANIFEST, _MOST_MANIFEST)
    if not record:
        raise CheckpointError(f"{checkpoint}: its {MANIFEST} is missing or damaged; choose another checkpoint.")
    given = record.get("format")
    shown = escape_unprintable(repr(given), 60)
    if is_later_format(given, FORMAT):
        versions = record.get("versions")
        version = versions.get("trainwright") if isinstance(versions, dict) else None
        raise NewerFormat(explain_format(checkpoint, given, FORMAT, version), UPDATE)
    if given != FORMAT:
        raise CheckpointError(f"{checkpoint}: its {MANIFEST} tells of a format {shown}; choose another checkpoint.")
    if record != seal(record):
        raise CheckpointError(f"{checkpoint}: its {MANIFEST} was changed or damaged; choose another checkpoint.")
    try:
        manifest = Manifest.model_validate(record)
    except ValidationError as error:  # anybody can seal one
        entry = ".".join(map(str, error.errors()[0]["loc"]))
        raise CheckpointError(
            f"{checkpoint}: its {MANIFEST} does not tell {entry}; choose another checkpoint."
        ) from error
    if missing := {WEIGHTS, STATE} - manifest.files.keys():
        raise CheckpointError(f"{checkpoint}: its {MANIFEST} does not tell {min(missing)}; choose another checkpoint.")
    return manifest


def verify(checkpoint: Path) -> Manifest:
    """Check every file of ``checkpoint`` against its manifest (size, then SHA-256) and return the manifest.

    Raises CheckpointError naming the first file that is missing or differs. Nothing is loaded.
    """
    manifest = read_manifest(checkpoint)
    while fault := _damage(checkpoint, manifest.files):
        now = read_manifest(checkpoint)
        if now == manifest:
            raise CheckpointError(f"{checkpoint}: {fault}; choose another checkpoint.")
        manifest = now  # the step was saved again while we looked
    return manifest


def _damage(checkpoint: Path, files: Mapping[str, FileFacts]) -> str:
    """What is wrong with the first file that is not what the manifest says of it; "" when all are."""
    for name, facts in files.items():
        path = checkpoint / name
        if path.is_symlink() or not path.is_file():
            return f"{name} is missing"
        try:
            size = path.stat().st_size
            if size != facts.bytes:
                return f"{name} has {size} bytes instead of {facts.bytes}; it is damaged"
            if digest(path) != facts.sha256:
                return f"{name} does not match its digest; it is damaged"
        except OSError as error:
            return f"{name} cannot be read ({error.strerror or error})"
    return ""


def read_labels(folder: RunFolder) -> dict[str, str]:
    """``{"last": name, "best": name}``; labels are pointers to checkpoints of this run, never copies."""
    return {label: name for label, name in read_json(folder.labels_file).items() if isinstance(name, str)}


def best_checkpoint(folder: RunFolder) -> str:
    """The name of the run's best checkpoint, else of its last; empty where it has none yet. Raises CheckpointError where it has
    some and does not tell any more."""
    finish_rewind(folder)
    labels = read_labels(folder)
    name = labels.get(BEST) or labels.get(LAST) or ""
    if not name and (known := checkpoint_folders(folder)):
        raise CheckpointError(
            f"{folder.labels_file}: is lost or damaged, so the best checkpoint is not known; name one, such as {known[0]}."
        )
    return name


def write_labels(folder: RunFolder, labels: Mapping[str, str]) -> None:
    """Replace the labels atomically."""
    write_text(folder.labels_file, json.dumps(dict(labels), indent=1) + "\n")


def has_changed(checkpoint: Path, error: CheckpointError) -> bool:
    """Whether ``error``, met while ``checkpoint`` was read, comes of a run at work, which deleted it or saved it once more."""
    return not os.path.lexists(checkpoint) or (isinstance(error, MissingCheckpoint) and checkpoint.is_dir())


def checkpoint_folders(folder: RunFolder) -> list[Path]:
    """Everything named like a finished checkpoint, newest first, whole or not."""
    try:
        paths = list(folder.checkpoints.iterdir())
    except (FileNotFoundError, NotADirectoryError):  # also for a moment while the run goes back
        return []
    return sorted((path for path in paths if _CHECKPOINT_NAME.fullmatch(path.name)), reverse=True)


def list_checkpoints(folder: RunFolder) -> list[CheckpointInfo]:
    """Complete checkpoints of a run, newest first; half-written ones are passed over."""
    labels, found = read_labels(folder), []
    for path in checkpoint_folders(folder):
        with suppress(CheckpointError, OSError):
            file = os.stat(path / MANIFEST)
            info = _read_info(path, (file.st_mtime_ns, file.st_size, file.st_ino))
            found.append(replace(info, labels=tuple(label for label, name in labels.items() if name == path.name)))
    return found


@lru_cache(maxsize=10_000)  # a run may keep thousands, and asks at each save
def _read_info(path: Path, stamp: tuple[int, int, int]) -> CheckpointInfo:
    """What the manifest in ``path`` says; ``stamp`` tells one writing of it from another."""
    manifest = read_manifest(path)
    return CheckpointInfo(
        path=path,
        step=manifest.step,
        epoch=manifest.epoch,
        time=manifest.time,
        size=sum(facts.bytes for facts in manifest.files.values()),
        metrics=manifest.metrics,
        planned=manifest.planned,
        metrics_step=manifest.metrics_step,
    )
