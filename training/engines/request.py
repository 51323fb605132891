"""What a person asks for who installs an engine, and how far that is."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from training.engines.kinds import KINDS, Kind, KindName, Machine, estimate_size, find_index
from training.errors import format_bytes, pluralize
from training.system.installed import without_secrets
from training.system.interpreter import is_frozen

Stage = Literal["preparing", "resolving", "downloading", "unpacking", "trying"]
_STAGES: dict[Stage, str] = {
    "preparing": "Making the environment",
    "resolving": "Asking the package index",
    "downloading": "Downloading",
    "unpacking": "Unpacking",
    "trying": "Trying the engine",
}


UV_PYTHON: Final = "3.12"
"""What uv is to fetch where there is no Python that an engine can be made with."""


class Request(BaseModel):
    """``index``: the address of a package index that has everything, instead of those that pip and PyTorch use. ``wheels``: a folder of
    wheels, which alone is used where no index is given. ``python``: what the engine's environment is made with."""

    model_config = ConfigDict(frozen=True)

    kind: KindName
    name: str = ""
    index: str = ""
    proxy: str = ""
    wheels: str = ""
    python: str = ""

    @property
    def sort(self) -> Kind:
        """The kind, with what is known of it."""
        return KINDS[self.kind]

    @property
    def title(self) -> str:
        """What the engine is called: its folder."""
        return self.name or self.kind

    def list_sources(self, machine: Machine) -> list[str]:
        """Where it comes from, as it can be shown to anybody."""
        if self.index:
            return [without_secrets(self.index), *([self.wheels] if self.wheels else [])]
        if self.wheels:
            return [self.wheels]
        special = find_index(self.sort, machine)
        return [*([special] if special else []), "the package index that pip uses"]

    def announce(self, machine: Machine) -> str:
        """What is going to be fetched, from where, and about how much."""
        size = estimate_size(self.sort, machine)
        text = (
            f"about {format_bytes(size.download)} to download from {' and '.join(self.list_sources(machine))}, "
            f"{format_bytes(size.disk)} on the disk."
        )
        if is_frozen() and not self.python and shutil.which("uv"):
            text += f" Where no Python here will do, uv gets Python {UV_PYTHON} from GitHub first (about 35 MB)."
        return text


class Progress(BaseModel):
    """How far it is. ``total`` and ``done`` are bytes, ``total`` 0 where it is not known; of ``packages``, ``ready`` are here."""

    model_config = ConfigDict(frozen=True)

    stage: Stage = "preparing"
    done: int = 0
    total: int = 0
    ready: int = 0
    packages: int = 0
    name: str = ""

    @property
    def fraction(self) -> float | None:
        """Of the download, which is nearly all of it; None where nobody knows."""
        if self.stage == "downloading":
            return self.done / self.total if self.total else None
        return None

    def __str__(self) -> str:
        text = _STAGES[self.stage]
        if self.stage == "downloading":
            of = f" of {format_bytes(self.total)}" if self.total else ""
            text += (
                f" {self.name}: {format_bytes(self.done)}{of}, {self.ready} of {pluralize(self.packages, 'package')}"
            )
        return text

    def tell_past(self) -> str:
        """Of an installation that was canceled or cut off: what it was at."""
        now = str(self)
        return f"it was {now[:1].lower()}{now[1:]}"


Report = Callable[[Progress], object]


def check_request(request: Request) -> str:
    """What is wrong with it, naming the setting; "" where nothing is."""
    for name, address in (("package index", request.index), ("proxy", request.proxy)):
        if address and _find_scheme(address) not in ("http", "https", "file", "socks5"):
            return f"The {name} {address} is no address: it begins with https:// or http://."
    if request.wheels and not Path(request.wheels).is_dir():
        return f"There is no folder {request.wheels} of wheels."
    if Path(request.title).name != request.title or request.title.startswith(".") or "." in request.title:
        return f"The name {request.title!r} cannot be a folder's: use letters, figures, - and _."
    return ""


def _find_scheme(address: str) -> str:
    try:
        return urlsplit(address).scheme
    except ValueError:  # brackets that hold no IPv6 address
        return ""
