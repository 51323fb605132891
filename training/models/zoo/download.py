"""Published files of weights: found on this computer, or fetched with progress."""

from __future__ import annotations

import re
from pathlib import Path

import torch

from training.downloads import ReportProgress, explain, fetch
from training.errors import InputError
from training.runs.records.manifest import digest
from training.system.untrusted import escape_unprintable


def weights_folder() -> Path:
    """Where torch's own hub keeps what it downloads, so that nothing is fetched twice."""
    return Path(torch.hub.get_dir()) / "checkpoints"


def find_published(url: str, name: str, what: str, report: ReportProgress) -> Path:
    """The file at ``url``, which is called ``name`` here; fetched where it is not yet on this computer. ``what`` names it for
    the person. A name like ``resnet18-f37072fd.pth`` holds the beginning of the file's SHA-256, which is checked.

    Raises InputError, saying where to put the file by hand, when it cannot be fetched.
    """
    path = weights_folder() / name
    if not path.is_file():
        try:
            if not url.startswith("https://"):
                raise ValueError(f"{url} is no safe address")
            report(f"downloading {what}", None)
            fetch(url, path, what, report)
        except (OSError, ValueError) as error:
            raise InputError(
                f"model.pretrained: {what} is not on this computer and could not be downloaded "
                f"({escape_unprintable(explain(error), 100)}). Put {url} into {path.parent} as {name}, or empty this setting."
            ) from error
    wanted = re.search(r"-([0-9a-f]{8,})\.\w+$", name)
    if wanted and not digest(path).startswith(wanted[1]):
        raise InputError(f"model.pretrained: {path} is damaged; delete it, and it is fetched again.")
    return path
