"""The code that a run needs, and ``--trust``, a person's word on the command line that all of it may be run.

What a configuration says about its own code is no such word: it may come from anybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from training.config import RunConfig
from training.config.consent import agree, is_agreed
from training.config.files import apply_overrides, config_data
from training.config.paths import with_absolute_paths
from training.config.rules.signature import DATASET, LOSS, NETWORK, Purpose, read_signature
from training.config.rules.teacher_file import is_code
from training.config.sections.data.own_data import OWN_DATA
from training.config.sections.objective import Distillation, OwnLoss
from training.config.sections.own_file import explain_distrust
from training.config.sections.user_file import UserFile
from training.errors import CheckpointError, InputError, Problem
from training.runs.folder import RunFolder
from training.runs.records.manifest import read_manifest
from training.runs.workspace import teacher_checkpoint
from training.system.untrusted import escape_unprintable
from training.toml_text import Toml, read_config_text, read_table, read_toml

_KIND = "user_file"
_TEACHER = "objective.teacher_trusted"


@dataclass(frozen=True)
class Code:
    """A file of code. ``digest`` is what it was when the run that keeps it began, or when somebody agreed to it, None where
    nothing tells; ``setting`` is where a configuration tells it, "" where a run keeps the file itself."""

    file: Path
    digest: str | None
    setting: str = ""
    purpose: Purpose = NETWORK


def trust_file(config: Path, overrides: Sequence[str]) -> list[str]:
    """Agree to the code that the configuration file ``config`` needs, as it is now; returns the digests as overrides. Raises
    InputError."""
    data = read_toml(read_config_text(config), str(config))
    apply_overrides(data, overrides)
    return trust_settings(data, config.resolve().parent)


def trust_settings(data: Mapping[str, Toml], folder: Path) -> list[str]:
    """The same for settings with paths relative to ``folder``."""
    return _agree_to(_find_code(with_absolute_paths(data, folder)))


def trust_run(folder: RunFolder) -> None:
    """Agree to the network and the loss that a run keeps. Raises InputError when there is none to be read."""
    config = folder.config()
    if isinstance(config.model, UserFile):
        _agree_to([Code(folder.code_file, None)])
    if isinstance(config.objective, OwnLoss):
        _agree_to([Code(folder.loss_code_file, None, purpose=LOSS)])


def trust_resume(folder: RunFolder, overrides: Sequence[str]) -> list[str]:
    """Agree to all the code that going on with a run needs: its own, and its teacher's. Returns what of that the run is to be
    told as overrides. Raises InputError."""
    return _agree_to(_code_of_run(folder, overrides))


def code_to_agree(folder: RunFolder, overrides: Sequence[str] = ()) -> list[Path]:
    """The files of code that going on with a run needs and nobody agreed to on this computer, each as the run began with it.

    One that was changed since is not among them: the run cannot go on with it, whoever agrees. Raises InputError where the
    run's settings cannot be read.
    """
    found, needed = [], _code_of_run(folder, overrides)
    with suppress(InputError, OSError):  # the engine says what is wrong with a teacher
        for code in needed:
            if code.digest and not is_agreed(code.digest) and _digest(code.file, code.purpose) == code.digest:
                found.append(code.file)
    return found


def code_of(teacher: Path) -> Code | None:
    """The code that ``objective.teacher`` brings along: a Python file itself, or the network of the run that a checkpoint is
    of; None where there is none. Raises InputError for what is neither."""
    if is_code(teacher):
        return Code(teacher, None, _TEACHER)
    checkpoint = teacher_checkpoint(teacher)
    try:
        model = read_table(read_manifest(checkpoint).config, "model")
    except CheckpointError as error:
        raise InputError(f"objective.teacher: {error.message}", error.advice) from error
    if model.get("kind") != _KIND:
        return None
    kept = RunFolder(checkpoint.parent.parent).code_file
    return Code(kept if kept.is_file() else Path(str(model.get("path"))), _read_digest(model, "trusted"))


def checkpoint_problems(config: RunConfig) -> list[Problem]:
    """The code that a checkpoint's network is written in, where nobody agreed to it here; whatever else may be wrong with the
    checkpoint is found when it is loaded."""
    objective = config.objective
    if not isinstance(objective, Distillation):
        return []
    try:
        code = code_of(Path(objective.teacher))
    except (InputError, OSError):
        return []
    if code is None or code.digest is None or (digest := _digest(code.file)) is None:
        return []
    if digest != code.digest:
        what = f"{escape_unprintable(str(code.file), 300)} is not the code that this network was trained with; choose another."
        return [Problem("objective.teacher", what)]
    refusal = explain_distrust(code.file, digest, code.digest)
    return [Problem(_TEACHER, refusal)] if refusal else []


def _find_code(settings: Mapping[str, Toml], run: RunFolder | None = None) -> Iterator[Code]:
    """All that a run with ``settings`` needs; ``run`` keeps copies of its own. Raises InputError for a teacher that cannot be
    read."""
    objective = read_table(settings, "objective")
    for name, kinds, purpose, kept in (
        ("dataset", OWN_DATA, DATASET, run and run.dataset_code_file),
        ("model", (_KIND,), NETWORK, run and run.code_file),
        ("objective", ("user_loss",), LOSS, run and run.loss_code_file),
    ):
        section = read_table(settings, name)
        if section.get("kind") in kinds and isinstance(path := section.get("path"), str):
            if kept:
                yield Code(kept, _read_digest(section, "trusted"), purpose=purpose)
            else:
                yield Code(Path(path), None, f"{name}.trusted", purpose)
    teacher = objective.get("teacher")
    if isinstance(teacher, str) and teacher and Path(teacher).exists():
        code = code_of(Path(teacher))
        if code is not None:
            yield Code(code.file, _read_digest(objective, "teacher_trusted"), _TEACHER) if code.setting else code


def _read_digest(section: Mapping[str, Toml], name: str) -> str | None:
    digest = section.get(name)
    return digest if isinstance(digest, str) else None


def _code_of_run(folder: RunFolder, overrides: Sequence[str]) -> Iterator[Code]:
    data: dict[str, Toml] = dict(config_data(folder.config()))
    apply_overrides(data, overrides)
    return _find_code(with_absolute_paths(data, Path.cwd()), folder)


def _agree_to(codes: Iterable[Code]) -> list[str]:
    """Agree to each as it is now. Returns the digests that a configuration has to tell, as overrides."""
    overrides = []
    for code in codes:
        digest = read_signature(code.file, code.purpose).digest
        agree(digest, str(code.file))
        if code.setting and digest != code.digest:
            overrides.append(f"{code.setting}={digest}")
    return overrides


def _digest(path: Path, purpose: Purpose = NETWORK) -> str | None:
    """None of a file that cannot be read as code."""
    try:
        return read_signature(path, purpose).digest
    except (InputError, OSError):
        return None
