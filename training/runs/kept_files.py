"""What a run keeps of what its configuration names: the code that it was agreed to run, and its exclude list. No torch here."""

from __future__ import annotations

import hashlib
import shutil
from contextlib import suppress
from pathlib import Path

from training.config import RunConfig
from training.config.rules.signature import read_signature
from training.config.sections.data.dataset_section import PartsSection
from training.config.sections.data.own_data import OwnDataSection
from training.config.sections.objective import OwnLoss
from training.config.sections.own_file import OwnFile, explain_distrust
from training.config.sections.user_file import UserFile
from training.errors import ConfigError, Problem
from training.exclude_list import keep_exclude_list
from training.runs.folder import RunFolder
from training.system.atomic import write_bytes
from training.system.untrusted import MEGABYTE, read_bytes


def keep_files(folder: RunFolder, config: RunConfig, before: RunFolder | None = None) -> None:
    """Put into ``folder`` copies of the files that the network, the data and the loss of ``config`` are written in, and of its exclude
    list, unless they lie there; ``before`` is a run that has copies, where this one takes after it. Raises InputError."""
    if isinstance(config.model, UserFile):
        keep_code(config.model, "model", folder.code_file, *([before.code_file] if before else []))
    if isinstance(config.dataset, OwnDataSection):
        keep_code(config.dataset, "dataset", folder.dataset_code_file, *([before.dataset_code_file] if before else []))
    if isinstance(config.objective, OwnLoss):
        keep_code(config.objective, "objective", folder.loss_code_file, *([before.loss_code_file] if before else []))
    if isinstance(config.dataset, PartsSection):
        keep_exclude_list(config.dataset.exclude, folder.exclude_file, *([before.exclude_file] if before else []))


def hand_on_files(kept: RunFolder, run: RunFolder) -> None:
    """Copy what ``keep_files`` put into one folder into another. Raises OSError."""
    for file, copy in zip((*kept.code_files, kept.exclude_file), (*run.code_files, run.exclude_file), strict=True):
        if file.is_file():
            shutil.copyfile(file, copy)


def keep_code(config: OwnFile, section: str, copy: Path, *others: Path) -> None:
    """Put the file that the person agreed to into ``copy``, unless it lies there: from the first of ``others`` (another run's
    copy, where this one branched off) or the file itself that is still what it was. Raises InputError."""
    if find_trusted(config, copy) is not None:
        return
    if (data := find_trusted(config, *others, Path(config.path))) is not None:
        write_bytes(copy, data)
        return
    signature = read_signature(Path(config.path), config.purpose)  # says what is wrong with a file that cannot be read
    refusal = explain_distrust(Path(config.path), signature.digest, config.trusted)
    raise ConfigError([Problem(f"{section}.trusted", refusal or "the file's copy in the run's folder is gone.")])


def find_trusted(config: OwnFile, *paths: Path) -> bytes | None:
    """The first of them that is what the person agreed to."""
    for path in paths:
        with suppress(OSError):
            data = read_bytes(path, MEGABYTE)
            if hashlib.sha256(data).hexdigest() == config.trusted:
                return data
    return None
