"""A second start of the program: its wish is carried out by the window that is open, in the real program."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.training.tiny import tiny
from training.cli import main
from training.config import save_config
from training.runs.folder import create_run

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).with_name("listening_window.py")


@contextmanager
def started(*words: str) -> Iterator[subprocess.Popen[str]]:
    """The program, which tells what others hand over to it."""
    environment = {**os.environ, "PYTHONPATH": str(PROGRAM.parents[2])}
    command = [sys.executable, str(PROGRAM), *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as window:
        try:
            yield window
        finally:
            window.kill()


def read(window: subprocess.Popen[str]) -> str:
    assert window.stdout is not None
    return window.stdout.readline().strip()


def hand_over(*words: str) -> None:
    """Start it once more, which opens no window."""
    with started(*words) as second:
        assert read(second) == ""
        assert second.wait(60) == 0


def move_workspace(target: Path) -> int:
    return main(["workspace", "move", str(target), "--yes"])


def end(window: subprocess.Popen[str]) -> None:
    window.send_signal(signal.SIGTERM)
    assert window.wait(60) == 0


def test_a_second_start_hands_over_to_the_window_that_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "a b.toml"
    save_config(tiny("name=handed"), config)
    monkeypatch.chdir(tmp_path)
    with started() as window:
        assert read(window) == "open"
        hand_over()
        assert read(window).startswith("front, run: ")
        hand_over("a b.toml")
        assert read(window) == "front, setup: handed"
        run = create_run(tmp_path / "elsewhere", tiny())
        hand_over(str(run.opener_file))
        assert read(window) == f"front, run: {run.id}"
        Path(os.environ["TRAINWRIGHT_WORKSPACE"]).mkdir(exist_ok=True)
        with started("--new-window") as another:
            assert read(another) == "open"
            end(another)
        assert move_workspace(tmp_path / "new") == 2  # which the window would know nothing of
        window.kill()
    with started() as window:  # what was killed is in nobody's way
        assert read(window) == "open"
        hand_over("preset:sample")
        assert read(window).startswith("front, setup: ")
        end(window)
    assert move_workspace(tmp_path / "new") == 0


@pytest.mark.skipif(sys.platform == "win32", reason="it has pipes instead of sockets")
def test_what_knocks_and_says_nothing_sensible_is_left_standing(runtime: Path) -> None:
    folder = runtime / "Trainwright"
    others = set(folder.glob("*.socket"))  # of windows that were killed
    with started() as window:
        assert read(window) == "open"
        [address] = set(folder.glob("*.socket")) - others
        for said in (b"", b"\0\0\0\5hello", b'\0\0\0\x0f{"opened": [1]}'):
            with socket.socket(socket.AF_UNIX) as stranger:
                stranger.connect(str(address))
                stranger.sendall(said)
        hand_over()
        assert read(window).startswith("front, run: ")
        end(window)
    assert not address.exists()
