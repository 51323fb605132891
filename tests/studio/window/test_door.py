"""The door of a window: one alone opens it, and nobody is turned away by what was left behind."""

from __future__ import annotations

import socket
import sys
import threading
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from studio.services import instance
from studio.services.instance import Request, hand_over
from studio.window.door import Door


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where a window listened that was killed. Its name is short: a socket's may have a hundred letters."""
    if sys.platform == "win32":
        pytest.skip("the system itself lets one alone make a pipe")
    monkeypatch.chdir(tmp_path)
    left = socket.socket(socket.AF_UNIX)
    left.bind("door")
    left.close()
    return "door"


def test_of_several_starts_at_once_one_opens_the_door(qtbot: QtBot, address: str) -> None:
    doors = [Door(address) for _ in range(4)]
    opened: list[bool] = []
    together = threading.Barrier(len(doors))

    def start(door: Door) -> None:
        together.wait()
        opened.append(door.open(Request()))

    threads = [threading.Thread(target=start, args=(door,)) for door in doors]
    for thread in threads:
        thread.start()
    qtbot.waitUntil(lambda: len(opened) == len(doors), timeout=60_000)
    for thread in threads:
        thread.join()
    for door in doors:
        door.close()
    assert sorted(opened) == [False, False, False, True]


def test_who_knocks_while_the_window_ends_is_not_taken_in(qtbot: QtBot, address: str) -> None:
    door = Door(address)
    assert door.open(Request())
    asked: list[object] = []
    door.asked.connect(asked.append)
    taken: list[bool] = []
    thread = threading.Thread(target=lambda: taken.append(hand_over(address, Request("a.toml"))))
    door._knocked.disconnect(door._on_knocked)
    door._knocked.connect(door.close)  # the window ends after it heard the knock, and before it answers
    door._knocked.connect(door._on_knocked)
    thread.start()
    qtbot.waitUntil(lambda: bool(taken), timeout=60_000)
    thread.join()
    assert taken == [False]
    assert not asked


@pytest.mark.parametrize("is_furnished", [True, False])
def test_a_window_that_hangs_is_waited_for_as_long_as_it_may_be_furnished(
    qtbot: QtBot, address: str, monkeypatch: pytest.MonkeyPatch, is_furnished: bool
) -> None:
    monkeypatch.setattr(instance, "_PATIENCE", 0.4)
    door = Door(address)
    assert door.open(Request())
    if is_furnished:
        qtbot.wait(1)
    taken: list[bool] = []
    thread = threading.Thread(target=lambda: taken.append(hand_over(address, Request("a.toml"))))
    thread.start()
    thread.join(1.0)  # the event loop stands still
    qtbot.waitUntil(lambda: bool(taken), timeout=60_000)
    thread.join()
    door.close()
    assert taken == [not is_furnished]
