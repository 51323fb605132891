"""Where the decoded images of one folder in one form lie, and which generation of them counts."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import secrets
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from PIL import __version__ as pillow_version
from PIL import features
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from training.caches.decoded import MANIFEST, empty
from training.data.images.cache_room import is_private
from training.data.images.decode import Form
from training.data.images.image_file import Place
from training.system.atomic import write_text
from training.system.untrusted import MEGABYTE, read_bytes

_FORMAT = 2
_DECODE_RULE = 1  # raise it when decode.py gives other pixels


class _Manifest(BaseModel):
    """All that decides about the pixels, and the ``generation`` of the files that counts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: int = _FORMAT
    pictures: str
    form: dict[str, JsonValue]
    decoder: str
    generation: str = Field(default="", pattern="^[0-9a-f]{16}$")


class CacheFolder:
    """A folder below ``home``, named by all that decides about the pixels."""

    def __init__(self, home: Path, root: Path, form: Form) -> None:
        place = os.fsencode(root.resolve()).decode("utf-8", "backslashreplace")
        of_form = {name: value for name, value in asdict(form).items() if value is not None}
        self._key = _Manifest(pictures=place, form=json.loads(json.dumps(of_form)), decoder=_name_decoder())
        self._shape = form.pixels
        key = json.dumps(self._key.model_dump(exclude={"generation"}), sort_keys=True)
        self.path = home / hashlib.sha256(key.encode()).hexdigest()[:32]

    def place(self) -> Place:
        """Raises OSError or ValueError when there is no cache of this key."""
        if not is_private(self.path):
            raise ValueError("others may have written it")
        manifest = _Manifest.model_validate_json(read_bytes(self.path / MANIFEST, MEGABYTE))
        if manifest.model_copy(update={"generation": ""}) != self._key:
            raise ValueError("not what was written here")
        return self.at(manifest.generation)

    def at(self, generation: str) -> Place:
        """The files of ``generation``, whether they are there or not."""
        return Place(self.path / f"pixels-{generation}.bin", self.path / f"index-{generation}.bin", tuple(self._shape))

    def make_anew(self) -> Place:
        """Files of new names, so that whoever still reads the old ones is not given other pixels."""
        empty(self.path)
        manifest = self._key.model_copy(update={"generation": secrets.token_hex(8)})
        write_text(self.path / MANIFEST, manifest.model_dump_json(indent=1) + "\n")
        return self.at(manifest.generation)

    def state(self) -> tuple[str, int]:
        """Changes whenever something is added or made again: the name of the records' file, and its bytes."""
        with suppress(OSError, ValueError):
            index = self.place().index
            status = index.stat()
            return f"{index.name} {status.st_ino}", status.st_size  # another file when records were thrown away
        return "", 0


def _name_decoder() -> str:
    """What may decide about a bit of the pixels: a system's Pillow takes what codecs the system has, of any version."""
    names = ("jpg", "libjpeg_turbo", "jpg_2000", "webp", "avif")
    codecs = " ".join(f"{name} {features.version(name)}" for name in names)
    return f"{_DECODE_RULE}, Pillow {pillow_version}, {codecs}, {platform.machine()}"
