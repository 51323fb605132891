"""Where the decoded images of one folder in one form lie, and which generation of them counts."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import secrets
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from PIL import __version__ as pillow_version
from PIL import features

from training.data.images.cache_room import MANIFEST, empty, is_private
from training.data.images.decode import Form
from training.data.images.image_file import Place
from training.system.atomic import write_text
from training.system.untrusted import MEGABYTE, parse_json, read_bytes

_FORMAT = 2
_DECODE_RULE = 1  # raise it when decode.py gives other pixels


class CacheFolder:
    """A folder below ``home``, named by all that decides about the pixels."""

    def __init__(self, home: Path, root: Path, form: Form) -> None:
        self._key: dict[str, Any] = json.loads(json.dumps(_key(root, form)))  # as it will be read again
        self._shape = form.pixels
        self.path = home / hashlib.sha256(json.dumps(self._key, sort_keys=True).encode()).hexdigest()[:32]

    def place(self) -> Place:
        """Raises OSError or ValueError when there is no cache of this key."""
        if not is_private(self.path):
            raise ValueError("others may have written it")
        manifest = parse_json(read_bytes(self.path / MANIFEST, MEGABYTE))
        generation = manifest.pop("generation") if isinstance(manifest, dict) and "generation" in manifest else ""
        if manifest != self._key or not isinstance(generation, str) or not re.fullmatch("[0-9a-f]{16}", generation):
            raise ValueError("not what was written here")
        return self.at(generation)

    def at(self, generation: str) -> Place:
        """The files of ``generation``, whether they are there or not."""
        return Place(self.path / f"pixels-{generation}.bin", self.path / f"index-{generation}.bin", tuple(self._shape))

    def make_anew(self) -> Place:
        """Files of new names, so that whoever still reads the old ones is not given other pixels."""
        empty(self.path)
        generation = secrets.token_hex(8)
        write_text(self.path / MANIFEST, json.dumps(self._key | {"generation": generation}, indent=1) + "\n")
        return self.at(generation)

    def state(self) -> tuple[str, int]:
        """Changes whenever something is added or made again: the name of the records' file, and its bytes."""
        with suppress(OSError, ValueError):
            index = self.place().index
            status = index.stat()
            return f"{index.name} {status.st_ino}", status.st_size  # another file when records were thrown away
        return "", 0


def _key(root: Path, form: Form) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "pictures": os.fsencode(root.resolve()).decode("utf-8", "backslashreplace"),
        "form": {name: value for name, value in asdict(form).items() if value is not None},
        "decoder": _decoder(),
    }


def _decoder() -> str:
    """What may decide about a bit of the pixels: a system's Pillow takes what codecs the system has, of any version."""
    names = ("jpg", "libjpeg_turbo", "jpg_2000", "webp", "avif")
    codecs = " ".join(f"{name} {features.version(name)}" for name in names)
    return f"{_DECODE_RULE}, Pillow {pillow_version}, {codecs}, {platform.machine()}"
