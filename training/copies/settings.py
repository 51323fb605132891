"""Where a person's runs are copied to, and which of their checkpoints stay there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, field_validator

from training.errors import InputError
from training.sidecars.personal_file import edit_settings, load_settings, parse_settings, personal_file
from training.toml_text import Toml
from training.typed_paths import parse_path

_PROTOCOL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(?=://)")


KEYS = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
"""What a key of S3 is made of, as the environment and the keyring call it."""


class CopySettings(BaseModel):
    """``to``: below which address each run gets a folder of its own, "" for no copies. ``keep``: which checkpoints stay there,
    those with a label (last, best) or all that were ever copied."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    to: str = ""
    keep: Literal["labeled", "all"] = "labeled"

    @field_validator("to")
    @classmethod
    def _check(cls, text: str) -> str:
        if text and _is_relative(text):
            raise ValueError("is a part of a path; give all of it, since the program may be started anywhere")
        return _check_address(text) if text else ""


def settings_file() -> Path:
    """Where a person says it."""
    return personal_file("copies.toml")


def load_copy_settings() -> CopySettings:
    """Raises InputError naming the entry that is wrong."""
    return load_settings(CopySettings, settings_file())


def parse_copy_settings(data: Mapping[str, Toml]) -> CopySettings:
    """``data`` as settings; raises InputError naming the entry that is wrong."""
    return parse_settings(CopySettings, data)


def save_copy_settings(settings: CopySettings) -> None:
    """Write the person's file, keeping its comments. Raises InputError where it cannot be read or written."""
    with edit_settings(settings_file()) as document:
        document.update(settings.model_dump())


def parse_address(text: str) -> str:
    """An address as a person types it: what fsspec knows (``s3://bucket/runs``), or a folder. Raises InputError."""
    try:
        return _check_address(text)
    except ValueError as error:
        raise InputError(f"{_hide_key(text)}: {error}.") from error


def protocol_of(address: str) -> str:
    """ "s3", "file" ..."""
    found = _PROTOCOL.match(address)
    return found[0].lower() if found else "file"


def _check_address(text: str) -> str:
    if not _PROTOCOL.match(text):
        try:
            return parse_path(text).absolute().as_posix()
        except InputError as error:
            raise ValueError("is in a home folder that this machine does not have") from error
    parts = urlsplit(text)
    if parts.username is not None or parts.password is not None:
        raise ValueError(
            "holds a key; put it into the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY), ~/.aws/credentials or the keyring"
        )
    if "::" in text or parts.query or parts.fragment:
        raise ValueError("is more than the address of a folder; write it as s3://bucket/folder")
    if not (parts.netloc + parts.path).strip("/"):
        raise ValueError("names no place; write it as s3://bucket/folder")
    return text.rstrip("/")


def _is_relative(text: str) -> bool:
    try:
        return not _PROTOCOL.match(text) and not parse_path(text).is_absolute()
    except InputError:  # which ``_check_address`` tells
        return False


def _hide_key(text: str) -> str:
    """``text`` without what may be a key."""
    return re.sub(r"//[^/]*@", "//***@", text)
