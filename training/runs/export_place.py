"""Where an export may go: what lies there must be an earlier one of ours. Asked before anything is loaded, and once more by who writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from training.errors import InputError
from training.runs.export_consent import FACTS
from training.runs.folder import read_json
from training.system.untrusted import MEGABYTE, UnfitFile, read_bytes
from training.typed_paths import parse_path

SUFFIXES = {"safetensors": ".safetensors", "torch-export": ".pt2", "onnx": ".onnx", "openvino": ".xml"}
"""How the file of each format ends; all others are scripts."""
MARK = "Written by Trainwright "
"""Stands in each script of ours."""
Format = Literal["trainwright-model"]
_FILE_SUFFIXES = {".safetensors", ".pt", ".pth", ".pt2", ".onnx", ".bin", ".json", ".py", ".zip"}


class NamedFile(BaseModel):
    """A file by its name in the folder."""

    model_config = ConfigDict(frozen=True)

    name: str


class EarlierExport(BaseModel):
    """What tells an export of ours from files of others."""

    model_config = ConfigDict(frozen=True)

    format: Format
    file: NamedFile
    files: tuple[str, ...] = ()


def refuse_taken(to: str, out: Path) -> None:
    """Raise InputError where an export as ``to`` cannot go to ``out``."""
    if to in SUFFIXES:
        target_of(out, SUFFIXES[to])
    else:
        refuse_to_overwrite(parse_path(out).absolute())


def target_of(out: Path, suffix: str) -> tuple[Path, str]:
    """``out`` as (folder, file name): a path ending in ``suffix`` is the file itself, any other a folder for it.

    Raises InputError for another kind of file, and where anything but an earlier export would be overwritten.
    """
    out = parse_path(out).absolute()
    if out.suffix.lower() == suffix:
        _refuse_to_overwrite(out.parent, out.name, alone=False)
        return out.parent, out.name
    if out.suffix.lower() in _FILE_SUFFIXES:
        raise InputError(f"{out}: must be a folder or end in {suffix}; choose another name.")
    _refuse_to_overwrite(out, f"model{suffix}", alone=True)
    return out, f"model{suffix}"


def _refuse_to_overwrite(folder: Path, name: str, alone: bool) -> None:
    """``alone``: the folder is to be the export's own, so nothing else may lie in it before."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: a file is in the way; choose another place.")
    facts = folder / FACTS
    if facts.exists():
        earlier = read_earlier(folder)
        if earlier is None:
            raise InputError(f"{facts}: is not an export of ours and is left alone; choose another folder.")
        if earlier.file.name != name:
            raise InputError(
                f"{facts}: describes {earlier.file.name}, exported earlier; choose another folder for {name}."
            )
    elif (folder / name).exists():
        raise InputError(f"{folder / name}: is there already and has no {FACTS} of ours; choose another place.")
    elif alone and folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"{folder}: holds other files; choose an empty or a new folder.")


def read_earlier(folder: Path) -> EarlierExport | None:
    """The ``model.json`` in ``folder``; None when there is none, or it is not ours."""
    try:
        return EarlierExport.model_validate(read_json(folder / FACTS))
    except ValidationError:
        return None


def refuse_to_overwrite(out: Path) -> None:
    """Raise InputError where ``out`` is no script's name, or anything but an earlier script of ours is there."""
    if out.suffix != ".py":
        raise InputError(f"{out}: a script's name must end in .py; choose another name.")
    if out.is_dir():
        raise InputError(f"{out}: a folder is in the way; choose another name.")
    if out.exists() and not _is_ours(out):
        raise InputError(f"{out}: is there already and not an export of ours; choose another name.")


def _is_ours(out: Path) -> bool:
    try:
        return MARK.encode() in read_bytes(out, MEGABYTE)[:8000]
    except UnfitFile:  # a pipe or a device, or larger than any script
        return False
