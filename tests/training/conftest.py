"""What the tests of the engine share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.tiny import tiny
from training.config import save_config


@pytest.fixture
def config(tmp_path: Path) -> Path:
    save_config(tiny(), tmp_path / "tiny.toml")
    return tmp_path / "tiny.toml"


@pytest.fixture(autouse=True)
def prompt_sidecars(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests wait for the processes that send a run elsewhere, which get no time on a busy machine otherwise."""
    monkeypatch.setattr("training.sidecars.process._yield_to_others", lambda pid: None)
