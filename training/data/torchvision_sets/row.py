"""``KnownSet``: what there is to know of a set of data that torchvision knows by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from training.data.download import Remote
from training.system.places import data_folder

Form = Literal["idx", "arrays", "folder", "list", "faces", "masks"]


@dataclass(frozen=True)
class KnownSet:
    """``folder`` lies below the folder that the settings name, as torchvision has it; what ``form`` it has decides how it is
    read. ``files`` are to be fetched, ``bytes`` in all, and those that are archives unpacked to about ``unpacked`` more.
    ``by_hand`` is what a person has to do where no program can fetch them: a sentence up to where they belong."""

    form: Form
    folder: str
    files: tuple[Remote, ...]
    bytes: int
    unpacked: int = 0
    classes: tuple[str, ...] = ()
    by_hand: str = ""


def remote(address: str, digest: str, makes: str = "", *, inner: str = "", extra: bool = False) -> Remote:
    """A file that is to be had at ``address`` under its own name; ``digest`` is an MD5 unless it says what it is."""
    digest = digest if ":" in digest else f"md5:{digest}"
    return Remote(address.rpartition("/")[2], (address,), digest, makes, inner, extra)


def split_names(text: str) -> tuple[str, ...]:
    """Names of classes with a comma between them."""
    return tuple(text.split(", "))


def own_folder() -> Path:
    """Where they are put unless the settings name another place."""
    return data_folder() / "datasets"
