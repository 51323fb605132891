"""The code that an export brings along, and a person's word that it may be run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from training.config.consent import agree, is_agreed
from training.config.rules.signature import NETWORK, read_signature
from training.runs.folder import read_json
from training.runs.records.manifest import digest

FACTS = "model.json"
"""What an export tells about its model."""
CODE = "network.py"
"""A person's own network beside its weights."""
PROGRAM = ".pt2"
"""How a program of torch.export ends."""
_MOST_FACTS = 64 << 20


def trust_export(folder: Path) -> None:
    """Agree to the code in the export in ``folder``: a person's own network, a program of torch.export. Raises InputError."""
    for file, digest_of in _find_code(folder):
        agree(digest_of, str(file))


def export_code_to_agree(folder: Path) -> list[Path]:
    """The files of code in it that nobody agreed to on this computer. Raises InputError."""
    return [file for file, digest_of in _find_code(folder) if not is_agreed(digest_of)]


def _find_code(folder: Path) -> Iterator[tuple[Path, str]]:
    """Each with its digest."""
    record = read_json(folder / FACTS, _MOST_FACTS).get("file")
    name = record.get("name") if isinstance(record, dict) else None
    if (code := folder / CODE).is_file():
        yield code, read_signature(code, NETWORK).digest
    if isinstance(name, str) and name.endswith(PROGRAM) and (file := folder / Path(name).name).is_file():
        yield file, digest(file)
