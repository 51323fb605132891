"""A window's objects around the fake engine; everything is ended in order, and no thread may be left."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, SignalInstance
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot
from pytestqt.wait_signal import SignalBlocker

from studio.engine import child
from studio.engine.child import ChildLink
from studio.engine.host import EngineHost
from studio.engine.link import EngineChoice
from studio.pages.evaluate.view import View
from studio.services.app_settings import AppSettings
from studio.services.background import Background
from studio.services.garbage import GarbageCollector
from studio.services.settings import SettingsStore
from studio.state.context import AppContext
from studio.theme import apply, theme
from studio.window.main_window import MainWindow
from tests.engine_forks import EngineForks
from training.config import RunConfig, parse_config

FAKE_ENGINE = [sys.executable, "-m", "tests.studio.fake_engine"]

MakeHost = Callable[..., EngineHost]
PATIENCE = 60_000
"""Milliseconds that something may take to come: nobody waits longer than it takes, and a busy machine may need them."""

ENDLESS = 100_000
"""Epochs of a run that is stopped or killed long before it is over, however late that is."""


class PatientBot(QtBot):
    """Waits for as long as a busy machine needs, unless a test says otherwise."""

    def waitUntil(self, callback: Callable[[], bool | None], *, timeout: int = PATIENCE) -> None:
        super().waitUntil(callback, timeout=timeout)

    def waitSignal(self, signal: SignalInstance, *, timeout: int = PATIENCE, **rest: Any) -> SignalBlocker:
        return super().waitSignal(signal, timeout=timeout, **rest)

    def waitActive(self, widget: QWidget, *, timeout: int = PATIENCE) -> Any:
        return super().waitActive(widget, timeout=timeout)

    def waitExposed(self, widget: QWidget, *, timeout: int = PATIENCE) -> Any:
        return super().waitExposed(widget, timeout=timeout)


@pytest.fixture
def qtbot(qapp: QApplication, request: pytest.FixtureRequest) -> QtBot:
    return PatientBot(request)


@pytest.fixture(autouse=True)
def widgets_of_one_test(qapp: QApplication) -> Iterator[None]:
    """Dressed as the program is, whatever an earlier test chose. Widgets are deleted at once, closed or not: a window that stays, and its thousand parts, would follow every change of
    theme in all tests to come."""
    if not qapp.styleSheet() or (theme().mode, theme().font_scale) != ("light", 1.0):
        apply(qapp, "light")
    collector = GarbageCollector()
    yield
    for widget in qapp.topLevelWidgets():
        if isinstance(widget, MainWindow | View):  # a view that its page has put away has no parent to go with
            widget.deleteLater()
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    collector.collect()
    gc.enable()


@pytest.fixture
def workspace(isolated_home: Path) -> Path:
    """Where the runs of a test lie."""
    return isolated_home / "workspace"


@pytest.fixture
def config() -> Callable[..., RunConfig]:
    """Makes a small configuration: 2 epochs of 20 steps, a step a millisecond."""

    def make(name: str = "lab", epochs: int = 2, milliseconds: int = 1, **changes: Any) -> RunConfig:
        loop = {"epochs": epochs, "batch_size": milliseconds}
        return parse_config({"name": name, "loop": loop, **changes})

    return make


@pytest.fixture
def background(qapp: QApplication) -> Iterator[Background]:
    """A thread for short work, closed at the end."""
    made = Background()
    yield made
    made.close()


@pytest.fixture(scope="session")
def engine_forks() -> Iterator[EngineForks]:
    """Where fake engines come from."""
    late = ("tests.evaluations", "tests.reports", "training.predictions.writing")
    made = EngineForks("tests.studio.fake_engine", *late)
    yield made
    made.close()


@pytest.fixture
def make_host(
    qtbot: QtBot, qapp: QApplication, isolated_home: Path, engine_forks: EngineForks, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MakeHost]:
    """Makes EngineHosts on the fake engine, or on the process of ``command``, and ends them."""
    hosts: list[EngineHost] = []
    monkeypatch.setattr(child, "start_process", engine_forks.start_process)

    def make(command: list[str] | None = None, python: str = "") -> EngineHost:
        words = None if python else command or FAKE_ENGINE
        host = EngineHost(EngineChoice(python), lambda choice: ChildLink(choice.python, isolated_home / "logs", words))
        hosts.append(host)
        return host

    yield make
    for host in hosts:
        end_engines(qtbot, host)


def end_engines(qtbot: QtBot, host: EngineHost) -> None:
    """End every engine of ``host``; a host must not be dropped before. Politely only where one trains: another is often still at
    its imports, which nobody waits for."""
    idle = not host.training
    host.shutdown()
    if idle:
        host.kill()
    qtbot.waitUntil(lambda: not host.threads_running)


@pytest.fixture
def context(qtbot: QtBot, make_host: MakeHost, workspace: Path, isolated_home: Path) -> Iterator[AppContext]:
    """The objects behind a window."""
    settings = SettingsStore(isolated_home / "settings.json", AppSettings(keep_awake=False))
    made = AppContext(workspace, settings, make_host())
    yield made
    end_engines(qtbot, made.engine)
    made.background.close()
