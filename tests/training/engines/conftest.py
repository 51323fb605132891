"""An index of stand-in wheels, and environments that are made by copying."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.training.engines.stand_ins import Server, serve_index, write_index
from training.engines import install


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of this machine would be asked for the loopback."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.delenv("PIP_PROXY", raising=False)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with pip."""
    folder = tmp_path_factory.mktemp("template") / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=300)
    return folder


@pytest.fixture
def copied_environments(template: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is made in a tenth of the time, and pip is not renewed."""

    def copy(folder: Path, *_: object) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(template, folder, symlinks=True)

    monkeypatch.setattr(install, "make_environment", copy)
    monkeypatch.setattr("training.engines.plan._Resolver.renew_pip", lambda self: None)


@pytest.fixture
def server(tmp_path: Path, copied_environments: None) -> Iterator[Server]:
    """An index of a CPU build."""
    with serve_index(write_index(tmp_path / "index")) as made:
        yield made
