"""A person's word on the command line that a file of code may be run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from training.config.consent import agree
from training.config.files import apply_overrides, read_config_text, read_toml
from training.config.paths import with_absolute_paths
from training.config.signature import read_signature
from training.config.user_file import UserFile
from training.runs.folder import RunFolder

_KIND = "user_file"


def trust_file(config: Path, overrides: Sequence[str], now: bool) -> list[str]:
    """Agree to the file that the network of ``config`` is written in: to what it is ``now`` (then that is returned as an
    override), else to the digest that the person wrote into the configuration. Raises InputError."""
    data = read_toml(read_config_text(config), str(config))
    apply_overrides(data, overrides)
    return trust_settings(data, config.resolve().parent, now)


def trust_settings(data: Mapping[str, Any], folder: Path, now: bool) -> list[str]:
    """The same for settings that were read, with paths relative to ``folder``."""
    model = with_absolute_paths(data, folder).get("model")
    if not isinstance(model, Mapping) or model.get("kind") != _KIND or not isinstance(model.get("path"), str):
        return []
    path = Path(model["path"])
    if now:
        digest = read_signature(path).digest
        agree(digest, str(path))
        return [f"model.trusted={digest}"]
    if isinstance(model.get("trusted"), str) and model["trusted"]:
        agree(model["trusted"], str(path))
    return []


def trust_run(folder: RunFolder) -> None:
    """Agree to the code that a run keeps. Raises InputError when there is none to be read."""
    config = folder.config()
    if isinstance(config.model, UserFile):
        agree(read_signature(folder.code_file).digest, str(folder.code_file))
