"""The packages that are installed beside this program: names, versions and where each came from, without asking anybody."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

Origin = Literal["index", "archive", "folder", "editable", "repository", "system"]
"""A package index; a wheel or an archive that was named by its place; a folder, copied or (editable) used where it lies; a
repository (git); a package manager of the system or conda, which keeps no record that pip could follow."""

_INSTALLERS = frozenset(["pip", "uv", "poetry", "pdm", "hatch", "pipenv", "rye"])
"""Who writes ``INSTALLER`` and takes packages from an index."""
_MOST_BYTES = 65536


@dataclass(frozen=True)
class Package:
    """``name`` as indexes write it (small letters, one hyphen between words)."""

    name: str
    version: str
    origin: Origin
    url: str = ""
    """Of all but "index" and "system": where it came from, without user name and password."""
    commit: str = ""
    """Of "repository"."""
    sha256: str = ""
    """Of "archive", where its installer noted it."""


def canonical_name(name: str) -> str:
    """https://packaging.python.org/en/latest/specifications/name-normalization"""
    return re.sub(r"[-_.]+", "-", name).lower()


def list_packages(places: list[str] | None = None) -> tuple[Package, ...]:
    """What ``import`` can find in ``places`` (``sys.path``), by name. The first of a name wins, as it does for ``import``.

    Names and versions are those of the folders: to parse the metadata of 180 packages takes 0.35 s, this 0.02 s.
    """
    found: dict[str, Package] = {}
    for place in map(Path, sys.path if places is None else places):
        for record in _records(place):
            package = _describe(record)
            if package is not None:
                found.setdefault(package.name, package)
    return tuple(sorted(found.values(), key=lambda package: package.name))


def _records(place: Path) -> Iterator[Path]:
    try:
        names = sorted(entry.name for entry in place.iterdir())
    except OSError:  # a zip file, or a folder that is gone
        return
    yield from (place / name for name in names if name.endswith((".dist-info", ".egg-info")))


def _describe(record: Path) -> Package | None:
    name, _, version = record.stem.partition("-")
    if record.suffix == ".egg-info":
        version = Distribution.at(record).version if record.is_dir() else version.partition("-")[0]
    if not name or not version:
        return None
    direct = _read_direct_url(record)
    if direct is not None:
        return _follow(canonical_name(name), version, direct)
    installer = _read(record / "INSTALLER").strip()
    recorded = installer in _INSTALLERS and (record / "RECORD").is_file()
    return Package(canonical_name(name), version, "index" if recorded else "system")


def _follow(name: str, version: str, direct: Mapping[str, Any]) -> Package:
    """https://packaging.python.org/en/latest/specifications/direct-url"""
    url = without_secrets(str(direct.get("url", "")))
    repository, archive, folder = (direct.get(key) for key in ("vcs_info", "archive_info", "dir_info"))
    if isinstance(repository, dict):
        return Package(name, version, "repository", url, commit=str(repository.get("commit_id", "")))
    if isinstance(archive, dict):
        hashes = archive.get("hashes")
        sha256 = hashes.get("sha256", "") if isinstance(hashes, dict) else ""
        return Package(name, version, "archive", url, sha256=str(sha256))
    editable = isinstance(folder, dict) and folder.get("editable") is True
    return Package(name, version, "editable" if editable else "folder", url)


def _read_direct_url(record: Path) -> dict[str, Any] | None:
    try:
        direct = json.loads(_read(record / "direct_url.json"))
    except (ValueError, RecursionError):
        return None
    return direct if isinstance(direct, dict) else None


def _read(path: Path) -> str:
    """Empty where there is none."""
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            return stream.read(_MOST_BYTES)
    except OSError:
        return ""


def without_secrets(url: str) -> str:
    """``url`` without what stands before the @ of its host; empty where it is no URL."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", parts.fragment))
