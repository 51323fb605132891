"""The package indexes that pip was told of, and the digests they give. Nothing is downloaded but their pages."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import requests
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename
from packaging.version import InvalidVersion, Version
from pypi_simple import NoSuchProjectError, ProjectPage, PyPISimple, UnsupportedContentTypeError

from training.errors import InputError
from training.system.installed import Package
from training.system.pip_settings import PipSettings
from training.typed_paths import parse_path

_SECONDS = 30.0
_AT_ONCE = 6


@dataclass
class Release:
    """The files of one version: SHA-256 in hexadecimal by file name."""

    digests: dict[str, str] = field(default_factory=dict)
    yanked: str | None = None
    """Why it was withdrawn ("" where no reason is given); None where it was not."""


def find_releases(packages: Sequence[Package], settings: PipSettings) -> dict[str, Release]:
    """The release of each package's version, by the package's name; without digests where no index has that version.

    The first index that has a file decides its digest. Raises InputError where an index cannot be reached.
    """
    groups = [packages[number::_AT_ONCE] for number in range(_AT_ONCE)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:  # each with a connection of its own, which it keeps
        found = pool.map(lambda group: dict(_ask(group, settings)), groups)
        return {name: release for each in found for name, release in each.items()}


def _ask(packages: Sequence[Package], settings: PipSettings) -> Iterator[tuple[str, Release]]:
    with requests.Session() as session:
        session.verify = settings.certificates or True
        clients = [PyPISimple(url, session=session) for url in settings.indexes]
        for package in packages:
            release = Release()
            for client in clients:
                _add(release, package, _read_page(client, package.name))
            for link in settings.links:
                _add(release, package, _read_links(link, package.name, session))
            yield package.name, release


def _read_page(client: PyPISimple, name: str) -> ProjectPage | None:
    """What an index has of a package; None for nothing."""
    url = client.get_project_url(name)
    if urlsplit(url).scheme == "file":
        return _read_local_page(Path(url2pathname(urlsplit(url).path)) / "index.html", name)
    with _explain(url):
        try:
            return client.get_project_page(name, timeout=_SECONDS)
        except NoSuchProjectError:
            return None


def _read_local_page(page: Path, name: str) -> ProjectPage | None:
    try:
        return ProjectPage.from_html(name, page.read_bytes(), base_url=page.as_uri())
    except OSError:
        return None


def _read_links(link: str, name: str, session: requests.Session) -> ProjectPage | None:
    parts = urlsplit(link)
    if parts.scheme in ("http", "https"):
        with _explain(link):
            answer = session.get(link, timeout=_SECONDS)
            answer.raise_for_status()
            return ProjectPage.from_html(name, answer.content, base_url=link)
    folder = Path(url2pathname(parts.path)) if parts.scheme == "file" else parse_path(link)
    if folder.is_file():
        return _read_local_page(folder, name)
    with suppress(OSError):
        anchors = "".join(f'<a href="{file.absolute().as_uri()}">{file.name}</a>' for file in sorted(folder.iterdir()))
        return ProjectPage.from_html(name, anchors)
    return None


def _add(release: Release, package: Package, page: ProjectPage | None) -> None:
    for file in page.packages if page is not None else ():
        if not _is_of(file.filename, package) or file.filename in release.digests:
            continue
        digest = file.digests.get("sha256") or _digest_local(file.url)
        if digest:
            release.digests[file.filename] = digest
            if file.is_yanked:
                release.yanked = file.yanked_reason or ""


def _is_of(filename: str, package: Package) -> bool:
    try:
        name, version = (
            parse_wheel_filename(filename)[:2] if filename.endswith(".whl") else parse_sdist_filename(filename)
        )
        return name == canonicalize_name(package.name) and version == Version(package.version)
    except (ValueError, InvalidVersion):  # an egg, an installer, or another thing on such a page
        return False


def _digest_local(url: str) -> str:
    """Of a file on this machine; empty for another, whose page gives no digest."""
    parts = urlsplit(url)
    if parts.scheme != "file":
        return ""
    try:
        with Path(url2pathname(parts.path)).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""


@contextmanager
def _explain(url: str) -> Iterator[None]:
    """Errors on the way to ``url`` become an InputError that names its host, never what stands before the @."""
    host = urlsplit(url).netloc.rpartition("@")[2]
    try:
        yield
    except requests.HTTPError as error:
        answer = error.response
        status = f"{answer.status_code} {answer.reason}" if answer is not None else "with an error"
        raise InputError(
            f"The package index {host} answers {status}; check its address and your access to it (pip config list). Nothing was "
            "written."
        ) from error
    except requests.RequestException as error:
        raise InputError(
            f"The package index {host} cannot be reached, and the digests come from there: check the network, or which index pip "
            "uses (pip config list, PIP_INDEX_URL). Nothing was written."
        ) from error
    except UnsupportedContentTypeError as error:
        raise InputError(
            f"{host} is no package index: it answers with another kind of page. Check pip config list. Nothing was written."
        ) from error
