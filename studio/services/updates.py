"""Whether there is a newer Trainwright: a package index is asked for the names of its files, and told nothing."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator

from studio.identity import APP_NAME, VERSION
from studio.services.app_settings import AppSettings
from training.engines.fetch import Fetcher
from training.errors import InputError
from training.system.installed import without_secrets
from training.system.interpreter import is_frozen, without_python
from training.system.newer import is_newer, number_of
from training.system.pip_settings import PipSettings, read_pip_settings
from training.system.resources import find_checkout

_PACKAGE = "trainwright"
_PIP_SECONDS = 10.0  # the end of the window waits for it
_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
_FILE = re.compile(rf"{_PACKAGE}-(?P<version>\d+(?:\.\d+)*)(?:-\S+\.whl|\.tar\.gz)")
"""A wheel or sdist of a release, as ours are numbered; those of candidates do not fit."""
_ANCHOR = re.compile(r"<a\b([^>]*)>([^<]*)</a>", re.IGNORECASE)


def name_source(settings: AppSettings) -> str:
    """Who is asked, as it can be shown to anybody."""
    if settings.engine_index:
        return without_secrets(settings.engine_index)
    return "the package index that pip uses" if settings.interpreter else "pypi.org"


def find_newer(settings: AppSettings, is_given_up: Callable[[], bool]) -> str:
    """The version of the newest release; "" where that is this one. Raises InputError where nobody can say."""
    python = settings.interpreter
    pip = read_pip_settings(python, without_python(os.environ), _PIP_SECONDS) if python else PipSettings()
    indexes = [settings.engine_index] if settings.engine_index else pip.indexes
    if not indexes:
        raise InputError("pip may ask no package index here (no-index).")
    fetcher = Fetcher(is_given_up, settings.engine_proxy, pip)
    pages = [
        page for index in indexes if (page := fetcher.read(f"{index.rstrip('/')}/{_PACKAGE}/", _ACCEPT)) is not None
    ]
    versions = [version for page in pages for version in _list_versions(page.decode("utf-8", "replace"))]
    if not versions:
        raise InputError(f"{without_secrets(indexes[0])} has no package named {_PACKAGE}.")
    newest = max(versions, key=number_of)
    return newest if is_newer(newest) else ""


def explain_update(version: str) -> tuple[str, str]:
    """That there is this one, and how it is got here."""
    if is_frozen():
        way = "Install its package or installer over this one; runs and settings stay."
    elif find_checkout() is not None:
        way = "Get it by “git pull”, and start again."
    else:
        way = f"Get it by “pip install --upgrade {_PACKAGE}”, and start again."
    return f"{APP_NAME} {version} is out", f"This is {VERSION}. {way}"


def _list_versions(page: str) -> Iterator[str]:
    """Of the releases on a page of an index (PEP 503, PEP 691) that were not withdrawn."""
    for name in _list_files(page):
        if (found := _FILE.fullmatch(name)) is not None:
            yield found["version"]


def _list_files(page: str) -> Iterator[str]:
    try:
        files = json.loads(page)["files"]
        yield from [each["filename"] for each in files if not each.get("yanked")]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        yield from [
            name.strip() for attributes, name in _ANCHOR.findall(page) if "data-yanked" not in attributes.lower()
        ]
