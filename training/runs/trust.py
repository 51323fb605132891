"""A person's word on the command line that a file of code may be run.

What a configuration says about its own code is no such word: it may come from anybody.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from training.config.consent import agree
from training.config.files import apply_overrides, config_data, read_config_text, read_toml
from training.config.paths import with_absolute_paths
from training.config.signature import read_signature
from training.config.user_file import UserFile
from training.errors import CheckpointError, InputError
from training.runs.folder import RunFolder
from training.runs.manifest import read_manifest
from training.runs.workspace import teacher_checkpoint

_KIND = "user_file"
_TYPED = "model.trusted"


def add_trust(parser: argparse.ArgumentParser) -> None:
    """The option ``--trust`` for a command that may run a person's own network."""
    parser.add_argument(
        "--trust", action="store_true", help="agree to run the Python file that defines the network, as it is now"
    )


def trust_file(config: Path, overrides: Sequence[str], now: bool) -> list[str]:
    """Agree to the code that the configuration file ``config`` needs: to what it is ``now`` (then the network's digest is
    returned as an override), else only to a digest that the person typed as an override. Raises InputError."""
    data = read_toml(read_config_text(config), str(config))
    apply_overrides(data, overrides)
    return trust_settings(data, config.resolve().parent, overrides, now)


def trust_settings(data: Mapping[str, Any], folder: Path, overrides: Sequence[str], now: bool) -> list[str]:
    """The same for settings to which ``overrides`` were applied, with paths relative to ``folder``."""
    settings = with_absolute_paths(data, folder)
    if now:
        _trust_teacher(settings)
    model = settings.get("model")
    if not isinstance(model, Mapping) or model.get("kind") != _KIND or not isinstance(model.get("path"), str):
        return []
    path, digest = Path(model["path"]), model.get("trusted")
    if now:
        digest = read_signature(path).digest
        agree(digest, str(path))
        return [f"{_TYPED}={digest}"]
    typed = any(override.partition("=")[0].strip() == _TYPED for override in overrides)
    if typed and isinstance(digest, str) and digest:
        agree(digest, str(path))
    return []


def trust_run(folder: RunFolder) -> None:
    """Agree to the code that a run keeps. Raises InputError when there is none to be read."""
    config = folder.config()
    if isinstance(config.model, UserFile):
        agree(read_signature(folder.code_file).digest, str(folder.code_file))


def trust_resume(folder: RunFolder, overrides: Sequence[str]) -> None:
    """Agree to all the code that going on with a run needs: its own, and its teacher's. Raises InputError."""
    trust_run(folder)
    data = config_data(folder.config())
    apply_overrides(data, overrides)
    _trust_teacher(with_absolute_paths(data, Path.cwd()))


def _trust_teacher(settings: Mapping[str, Any]) -> None:
    """Agree to the code that the network of a run that teaches is written in."""
    objective = settings.get("objective")
    path = objective.get("teacher") if isinstance(objective, Mapping) else None
    if not isinstance(path, str) or not Path(path).is_dir():
        return  # said of every path
    checkpoint = teacher_checkpoint(Path(path))
    try:
        model = read_manifest(checkpoint).get("config", {}).get("model", {})
    except CheckpointError as error:
        raise InputError(f"objective.teacher: {error.message}", error.advice) from error
    if isinstance(model, Mapping) and model.get("kind") == _KIND:
        kept = RunFolder(checkpoint.parent.parent).code_file
        code = kept if kept.is_file() else Path(str(model.get("path")))
        agree(read_signature(code).digest, str(code))
