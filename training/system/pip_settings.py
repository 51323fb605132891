"""Where pip looks for packages here, as it was told by files and variables. Standard library only."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

_DEFAULT = "https://pypi.org/simple"


@dataclass(frozen=True)
class PipSettings:
    """Where pip looks for packages here."""

    indexes: tuple[str, ...] = (_DEFAULT,)
    links: tuple[str, ...] = ()
    """Folders of wheels, or pages that link to them."""
    certificates: str = ""
    constraints: tuple[str, ...] = ()
    """Files of versions that are not to be exceeded."""

    def list_uv_options(self) -> list[str]:
        """The same for uv, which reads none of pip's files and variables."""
        options = [] if self.indexes else ["--no-index"]
        if self.indexes and self.indexes != (_DEFAULT,):
            first, *others = self.indexes
            options += ["--default-index", first, "--index-strategy", "unsafe-best-match"]  # pip's way: all are one
            options += [word for each in others for word in ("--index", each)]
        options += [word for each in self.links for word in ("--find-links", each)]
        return options + [word for each in self.constraints for word in ("--constraint", each)]


def read_pip_settings(
    python: str = sys.executable, environ: Mapping[str, str] = os.environ, seconds: float = 60.0
) -> PipSettings:
    """What ``pip config list`` tells of files and variables; PyPI where there is no pip that could tell in so many ``seconds``."""
    asked = [python, "-m", "pip", "config", "list", "--disable-pip-version-check"]
    with suppress(OSError, subprocess.SubprocessError):
        told = subprocess.run(
            asked,
            env=dict(environ),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        return parse_pip_settings(told.stdout.splitlines())
    return PipSettings()


def parse_pip_settings(lines: Iterable[str]) -> PipSettings:
    """The lines are "section.name='value'"; a variable (:env:) outdoes a file, and ``install`` outdoes ``global``."""
    found: dict[str, dict[str, str]] = {}
    for line in lines:
        key, _, value = line.partition("=")
        section, _, name = key.rpartition(".")
        with suppress(ValueError, SyntaxError):
            found.setdefault(section, {})[name] = str(ast.literal_eval(value))
    settings = {
        name: value for section in ("global", "install", ":env:") for name, value in found.get(section, {}).items()
    }
    without = settings.get("no-index", "").lower() in ("1", "true", "yes", "on")
    indexes = () if without else (settings.get("index-url", _DEFAULT), *settings.get("extra-index-url", "").split())
    links, constraints = (tuple(settings.get(name, "").split()) for name in ("find-links", "constraint"))
    return PipSettings(indexes, links, settings.get("cert", ""), constraints)
