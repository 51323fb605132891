"""A person's word on the command line that a file of code may be run.

What a configuration says about its own code is no such word: it may come from anybody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.config import RunConfig
from training.config.consent import agree, agreed
from training.config.files import apply_overrides, config_data
from training.config.objective import Distillation
from training.config.paths import with_absolute_paths
from training.config.signature import read_signature
from training.config.teacher_file import is_code
from training.config.user_file import UserFile, untrusted
from training.errors import CheckpointError, InputError, Problem
from training.reading import visible
from training.runs.folder import RunFolder
from training.runs.manifest import read_manifest
from training.runs.workspace import teacher_checkpoint
from training.toml_text import read_config_text, read_toml

_KIND = "user_file"
_MODEL, _TEACHER = "model.trusted", "objective.teacher_trusted"


@dataclass(frozen=True)
class Code:
    """A file that a teacher brings along. ``digest`` is what it was when the run that keeps it began; None of a file that no
    run keeps."""

    file: Path
    digest: str | None


def trust_file(config: Path, overrides: Sequence[str], now: bool) -> list[str]:
    """Agree to the code that the configuration file ``config`` needs: to what it is ``now`` (then the digests are returned as
    overrides), else only to a digest that the person typed as an override. Raises InputError."""
    data = read_toml(read_config_text(config), str(config))
    apply_overrides(data, overrides)
    return trust_settings(data, config.resolve().parent, overrides, now)


def trust_settings(data: Mapping[str, Any], folder: Path, overrides: Sequence[str], now: bool) -> list[str]:
    """The same for settings to which ``overrides`` were applied, with paths relative to ``folder``."""
    settings = with_absolute_paths(data, folder)
    if now:
        _trust_checkpoint(settings)
    found = []
    for setting, path, digest in _own_files(settings):
        if now:
            read = read_signature(path).digest
            agree(read, str(path))
            found.append(f"{setting}={read}")
        elif isinstance(digest, str) and digest and any(_names(override, setting) for override in overrides):
            agree(digest, str(path))
    return found


def _own_files(settings: Mapping[str, Any]) -> Iterator[tuple[str, Path, Any]]:
    """Which setting tells the digest that was agreed to, the file, and what the setting says."""
    model, objective = settings.get("model"), settings.get("objective")
    if isinstance(model, Mapping) and model.get("kind") == _KIND and isinstance(model.get("path"), str):
        yield _MODEL, Path(model["path"]), model.get("trusted")
    teacher = _teacher(settings)
    if teacher is not None and is_code(teacher) and isinstance(objective, Mapping):
        yield _TEACHER, teacher, objective.get("teacher_trusted")


def _names(override: str, setting: str) -> bool:
    return override.partition("=")[0].strip() == setting


def trust_run(folder: RunFolder) -> None:
    """Agree to the code that a run keeps. Raises InputError when there is none to be read."""
    config = folder.config()
    if isinstance(config.model, UserFile):
        agree(read_signature(folder.code_file).digest, str(folder.code_file))


def trust_resume(folder: RunFolder, overrides: Sequence[str]) -> list[str]:
    """Agree to all the code that going on with a run needs: its own, and its teacher's. Returns what of that the run is to be
    told as overrides. Raises InputError."""
    trust_run(folder)
    data = config_data(folder.config())
    apply_overrides(data, overrides)
    settings = with_absolute_paths(data, Path.cwd())
    _trust_checkpoint(settings)
    found = []
    for setting, path, digest in _own_files(settings):
        if setting == _TEACHER:  # of the network itself the run keeps a copy
            read = read_signature(path).digest
            agree(read, str(path))
            found += [] if read == digest else [f"{setting}={read}"]
    return found


def code_to_agree(folder: RunFolder, overrides: Sequence[str] = ()) -> list[Path]:
    """The files of code that going on with a run needs and nobody agreed to on this computer, each as the run began with it.

    One that was changed since is not among them: the run cannot go on with it, whoever agrees. Raises InputError where the
    run's settings cannot be read.
    """
    data = config_data(folder.config())
    apply_overrides(data, overrides)
    settings = with_absolute_paths(data, Path.cwd())
    needed = [
        (digest, (folder.code_file, path) if setting == _MODEL else (path,))  # of the network the run keeps a copy
        for setting, path, digest in _own_files(settings)
    ]
    teacher = _teacher(settings)
    if teacher is not None and teacher.is_dir():
        with suppress(InputError, OSError):  # the engine says what is wrong with it
            code = code_of(teacher)
            needed += [(code.digest, (code.file,))] if code is not None else []
    found = []
    for digest, places in needed:
        if isinstance(digest, str) and not agreed(digest):
            found += [path for path in places if _holds(path, digest)][:1]
    return found


def _holds(path: Path, digest: str) -> bool:
    try:
        return read_signature(path).digest == digest
    except (InputError, OSError):
        return False


def code_of(teacher: Path) -> Code | None:
    """The code that ``objective.teacher`` brings along: a Python file itself, or the network of the run that a checkpoint is
    of; None where there is none. Raises InputError for what is neither."""
    if is_code(teacher):
        return Code(teacher, None)
    checkpoint = teacher_checkpoint(teacher)
    try:
        model = read_manifest(checkpoint).get("config", {}).get("model", {})
    except CheckpointError as error:
        raise InputError(f"objective.teacher: {error.message}", error.advice) from error
    if not isinstance(model, Mapping) or model.get("kind") != _KIND:
        return None
    kept = RunFolder(checkpoint.parent.parent).code_file
    return Code(kept if kept.is_file() else Path(str(model.get("path"))), model.get("trusted"))


def checkpoint_problems(config: RunConfig) -> list[Problem]:
    """The code that a checkpoint's network is written in, where nobody agreed to it here; whatever else may be wrong with the
    checkpoint is found when it is loaded."""
    objective = config.objective
    if not isinstance(objective, Distillation):
        return []
    try:
        code = code_of(Path(objective.teacher))
        if code is None or code.digest is None:
            return []
        digest = read_signature(code.file).digest
    except (InputError, OSError):
        return []
    if digest != code.digest:
        what = f"{visible(str(code.file), 300)} is not the code that this network was trained with; choose another."
        return [Problem("objective.teacher", what)]
    refusal = untrusted(code.file, digest, code.digest)
    return [Problem(_TEACHER, refusal)] if refusal else []


def _trust_checkpoint(settings: Mapping[str, Any]) -> None:
    """Agree to the code that the network of a run that teaches is written in."""
    teacher = _teacher(settings)
    if teacher is None or not teacher.is_dir():
        return  # said of every path
    code = code_of(teacher)
    if code is not None:
        agree(read_signature(code.file).digest, str(code.file))


def _teacher(settings: Mapping[str, Any]) -> Path | None:
    objective = settings.get("objective")
    path = objective.get("teacher") if isinstance(objective, Mapping) else None
    return Path(path) if isinstance(path, str) and path else None
