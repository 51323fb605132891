"""A run's configuration inside its report: a link that saves it, which programs read as well as people.

A report may come from anybody. What it holds is read like any configuration file: bounded, never run, checked by the same rules. Its digest
tells damage and careless edits; it is no signature.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from training.errors import InputError
from training.system.untrusted import MEGABYTE, escape_unprintable, read_bytes

SUFFIXES: Final = (".html", ".htm")
_MOST_BYTES: Final = 16 * MEGABYTE
_MOST_ENCODED: Final = 2 * MEGABYTE  # of a configuration, which has a megabyte at most
_PLAIN: Final = re.compile("[0-9A-Za-z:._-]{0,200}")
_CHECKPOINT: Final = r"[0-9A-Za-z][0-9A-Za-z._-]{0,199}/step-[0-9]{8,12}"
_BEGIN: Final = b'<a class="config" data-format="1" data-fingerprint="'
_LINK: Final = re.compile(
    _BEGIN
    + rb'([0-9A-Za-z:._-]{0,200})"(?: data-origin="('
    + _CHECKPOINT.encode()
    + rb')")? data-sha256="([0-9a-f]{64})" download="config\.toml" href="data:application/toml;base64,'
    + rb'([0-9A-Za-z+/=]*)">'
)


@dataclass(frozen=True)
class EmbeddedConfig:
    """The ``text`` of a configuration as TOML, and the fingerprint of the data that the run had, "" where that is not known. ``origin``
    is the checkpoint that a branch began with, as RUN/CHECKPOINT; "" of a run that began from nothing."""

    text: str
    fingerprint: str = ""
    origin: str = ""

    @classmethod
    def of_run(cls, text: str, fingerprint: str, origin: str = "") -> Self:
        """``fingerprint`` and ``origin`` as a run's folder tells them; what is none is left out."""
        return cls(
            text,
            fingerprint if _PLAIN.fullmatch(fingerprint) else "",
            origin if re.fullmatch(_CHECKPOINT, origin) else "",
        )

    @property
    def sha256(self) -> str:
        """Of all."""
        origin = f"{self.origin}\n" if self.origin else ""
        return hashlib.sha256(f"{origin}{self.fingerprint}\n{self.text}".encode()).hexdigest()

    def explain_other_data(self, found: str) -> str:
        """A sentence where the data have another fingerprint, ``found``; "" where they are the report's, or that is not known."""
        if not self.fingerprint or found == self.fingerprint:
            return ""
        return (
            f"The dataset is not the one of the report: its fingerprint is {found[:16]}, and the run of the report had "
            f"{self.fingerprint[:16]}."
        )

    def link(self) -> str:
        """The tag that begins the link, as HTML."""
        encoded = base64.b64encode(self.text.encode()).decode()
        origin = f' data-origin="{self.origin}"' if self.origin else ""
        return (
            f'{_BEGIN.decode()}{self.fingerprint}"{origin} data-sha256="{self.sha256}" download="config.toml" '
            f'href="data:application/toml;base64,{encoded}">'
        )


def is_report(path: Path) -> bool:
    """Whether it is called like a report."""
    return path.suffix.lower() in SUFFIXES


def read_embedded(path: Path) -> EmbeddedConfig:
    """The configuration in the report ``path``. Raises InputError, or OSError where the file cannot be read."""
    source, page = escape_unprintable(str(path)), read_bytes(path, _MOST_BYTES)
    count = page.count(_BEGIN)
    if count == 0:
        raise InputError(
            f"{source}: holds no configuration of a run; choose the report of a run, or a configuration (TOML)."
        )
    if count > 1:
        raise InputError(
            f"{source}: compares {count:,} runs and holds the configuration of each; save the one you mean by its link in the report, "
            "and take that file."
        )
    try:
        found = _LINK.match(page, page.index(_BEGIN))
        if found is None or len(found[4]) > _MOST_ENCODED:
            raise ValueError
        text = base64.b64decode(found[4], validate=True).decode()
        config = EmbeddedConfig(text, found[1].decode(), (found[2] or b"").decode())
        if config.sha256 != found[3].decode():
            raise ValueError
    except (ValueError, binascii.Error):
        raise InputError(
            f"{source}: the configuration in it is damaged or was changed after the report was written; write the report again, or take "
            "a configuration file (TOML)."
        ) from None
    return config
