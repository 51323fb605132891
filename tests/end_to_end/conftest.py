"""A window on the real engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.engine import child
from studio.engine.child import ChildLink
from studio.engine.host import EngineHost
from studio.engine.in_place import InPlaceLink
from studio.engine.link import EngineChoice, EngineLink
from studio.services.app_settings import AppSettings
from studio.services.settings import SettingsStore
from studio.state.context import AppContext
from tests.engine_forks import EngineForks
from training.config import RunConfig, parse_config


@pytest.fixture
def workspace(isolated_home: Path) -> Path:
    """Where the runs of a test lie."""
    return isolated_home / "workspace"


@pytest.fixture
def tiny() -> Callable[..., RunConfig]:
    """A run of moments: 240 drawn shapes, 12 steps an epoch."""

    def make(epochs: int = 2, **changes: Any) -> RunConfig:
        data: dict[str, Any] = {
            "name": "tiny",
            "dataset": {"kind": "shapes", "samples": 240},
            "optimizer": {"kind": "adamw", "lr": 2e-3},
            "schedule": {"kind": "cosine"},
            "loop": {"epochs": epochs, "batch_size": 16},
            "checkpoints": {"keep_last": 50},
        }
        return parse_config({**data, **changes})

    return make


@pytest.fixture(scope="session")
def engine_forks() -> Iterator[EngineForks]:
    """Where engines come from; ``test_the_program_itself_...`` starts one as a person does."""
    made = EngineForks(
        "training.cli", "training.serve", "training.engine.assemble", "torchvision", "sqlalchemy.dialects.sqlite"
    )
    yield made
    made.close()


@pytest.fixture
def make_context(
    qtbot: QtBot,
    qapp: QApplication,
    workspace: Path,
    isolated_home: Path,
    engine_forks: EngineForks,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[..., AppContext]]:
    """Makes contexts on the real engine, and ends them."""
    monkeypatch.setattr(child, "start_process", engine_forks.start_process)
    made: list[AppContext] = []

    def make(in_process: bool = False, command: list[str] | None = None) -> AppContext:
        def make_link(choice: EngineChoice) -> EngineLink:
            return InPlaceLink() if choice.in_process else ChildLink(choice.python, isolated_home / "logs", command)

        settings = SettingsStore(isolated_home / "settings.json", AppSettings(keep_awake=False))
        made.append(AppContext(workspace, settings, EngineHost(EngineChoice("", in_process), make_link)))
        return made[-1]

    yield make
    for context in made:
        idle = not context.engine.training
        context.engine.shutdown()
        if idle:  # often still at its imports, which nobody waits for
            context.engine.kill()
    qtbot.waitUntil(lambda: not any(context.engine.threads_running for context in made), timeout=60000)
    for context in made:
        context.background.close()
