"""What a copy says of itself: the last file that is sent, by which a copy counts as whole.

A checkpoint's files lie in the copy where they lie in the run. Those that training changes have their digest in their names, so that
the files of the copy that counts stay as they are while the next one is sent.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from training.copies.store import Store
from training.runs.links import FILES
from training.runs.records.forms import Count, FileFacts
from training.runs.records.manifest import MANIFEST, seal
from training.sidecars.faults import Refused
from training.system.newer import UPDATE, explain_format, is_later_format
from training.system.untrusted import MEGABYTE, parse_json

RECORD: Final = "copy.json"
RECORDS: Final = FILES - {"owner.json", "commands.jsonl"}
"""The files of a run that are copied beside its checkpoints, where it has them."""

_FORMAT = 1
_MOST_BYTES = 64 * MEGABYTE
_CHECKPOINT_FILE = re.compile(r"(checkpoints/(step-[0-9]{8,16}))/[a-z0-9_]+\.(safetensors|pt|json)")
_RUN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,150}")
_OWN_KEY = re.compile(rf"records/[0-9a-f]{{16}}-.*|{_CHECKPOINT_FILE.pattern}")


class CopyRecord(BaseModel):
    """``copy.json``: ``writer`` tells one folder of the run from another, ``ended`` how the run stood at ``step``, "" while it was at
    work; ``files`` by their names in the run's folder."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    format: int = _FORMAT
    run: str
    writer: str
    time: Annotated[float, Field(ge=0.0, le=1e11)]
    created: Annotated[float, Field(ge=0.0, le=1e11)]
    step: Count
    ended: str = ""
    files: dict[str, FileFacts]

    @field_validator("run")
    @classmethod
    def _check_run(cls, name: str) -> str:
        if not _RUN.fullmatch(name):
            raise ValueError("is no name of a run")
        return name

    @field_validator("files")
    @classmethod
    def _check_names(cls, files: dict[str, FileFacts]) -> dict[str, FileFacts]:
        for name, facts in files.items():
            if (name not in RECORDS and not _CHECKPOINT_FILE.fullmatch(name)) or not re.fullmatch(
                "[0-9a-f]{64}", facts.sha256
            ):
                raise ValueError("names a file that no run has")
        return files

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(facts.bytes for facts in self.files.values())

    @property
    def checkpoints(self) -> list[str]:
        """Their names, newest first."""
        found = (_CHECKPOINT_FILE.fullmatch(name) for name in self.files if name.endswith(f"/{MANIFEST}"))
        return sorted((match[2] for match in found if match), reverse=True)

    def files_of(self, checkpoint: str) -> dict[str, FileFacts]:
        """Those of one checkpoint."""
        begin = f"checkpoints/{checkpoint}/"
        return {name: facts for name, facts in self.files.items() if name.startswith(begin)}

    def encode(self) -> bytes:
        """As it is sent."""
        return json.dumps(seal(self.model_dump(mode="json")), indent=1).encode() + b"\n"


def key_of(name: str, facts: FileFacts) -> str:
    """Where a file of a run lies in its copy."""
    return f"records/{facts.sha256[:16]}-{name}" if name in RECORDS else name


def is_own_key(key: str) -> bool:
    """Whether a copy has files of such a name; what else lies there is somebody's."""
    return _OWN_KEY.fullmatch(key) is not None


def read_record(store: Store) -> CopyRecord | None:
    """What the copy in ``store`` says of itself; None where there is no whole one yet. Raises Refused for one that is not ours."""
    text = store.read(RECORD, _MOST_BYTES)
    if text is None:
        return None
    try:
        data = parse_json(text)
    except ValueError:
        data = None
    if not isinstance(data, dict) or data != seal(data):
        raise Refused(
            f"{store.address}/{RECORD}: is damaged, or not of a copy; delete it and copy the run again, or choose another address."
        )
    if is_later_format(data.get("format"), _FORMAT):
        raise Refused(f"{explain_format(f'{store.address}/{RECORD}', data.get('format'), _FORMAT)} {UPDATE}")
    if data.get("format") != _FORMAT:
        raise Refused(f"{store.address}/{RECORD}: was written by another version of Trainwright; update this one.")
    try:
        return CopyRecord.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"][:1]))
        raise Refused(f"{store.address}/{RECORD}: does not tell {place} as a copy does; do not trust it.") from error
