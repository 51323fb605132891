"""Published files of weights: found on this computer, or fetched with progress."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import urllib.request
from collections.abc import Callable
from pathlib import Path

import torch

from training.errors import InputError
from training.reading import visible

ReportProgress = Callable[[str, float | None], None]

_SECONDS = 30.0
_PIECE = 1 << 20


def weights_folder() -> Path:
    """Where torch's own hub keeps what it downloads, so that nothing is fetched twice."""
    return Path(torch.hub.get_dir()) / "checkpoints"


def published_file(url: str, name: str, what: str, report: ReportProgress) -> Path:
    """The file at ``url``, which is called ``name`` here; fetched where it is not yet on this computer. ``what`` names it for
    the person. A name like ``resnet18-f37072fd.pth`` holds the beginning of the file's SHA-256, which is checked.

    Raises InputError, saying where to put the file by hand, when it cannot be fetched.
    """
    path = weights_folder() / name
    if not path.is_file():
        try:
            _fetch(url, path, what, report)
        except (OSError, ValueError) as error:  # urllib's errors are OSErrors; ValueError for what is no address
            reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
            raise InputError(
                f"model.pretrained: {what} is not on this computer and could not be downloaded "
                f"({visible(str(reason), 100)}). Put {url} into {path.parent} as {name}, or empty this setting."
            ) from error
    wanted = re.search(r"-([0-9a-f]{8,})\.\w+$", name)
    if wanted and not file_digest(path).startswith(wanted[1]):
        raise InputError(f"model.pretrained: {path} is damaged; delete it, and it is fetched again.")
    return path


def _fetch(url: str, path: Path, what: str, report: ReportProgress) -> None:
    """To a temporary sibling first, so that no half of a file is ever taken for the whole."""
    if not url.startswith("https://"):
        raise ValueError(f"{url} is no safe address")
    report(f"downloading {what}", None)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    try:
        with urllib.request.urlopen(url, timeout=_SECONDS) as answer, temporary.open("wb") as stream:
            whole, done = int(answer.headers.get("Content-Length") or 0), 0
            while piece := answer.read(_PIECE):
                stream.write(piece)
                done += len(piece)
                report(f"downloading {what}", done / whole if whole else None)
        if whole and done != whole:
            raise OSError(f"the connection ended after {done:,} of {whole:,} bytes")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def file_digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
