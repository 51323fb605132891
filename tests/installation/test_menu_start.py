"""A start the way a menu starts it: nothing but the desktop file, from another folder, on a display of its own."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import studio.__main__ as front_door
from studio.identity import APP_ID, APP_NAME

TOOLS = ("Xvfb", "gio", "xprop", "xdotool")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the menu of Linux"),
    pytest.mark.skipif(not all(map(shutil.which, TOOLS)), reason=f"needs {', '.join(TOOLS)}"),
]


@pytest.fixture
def display() -> Iterator[str]:
    """An X server nobody looks at; it chooses its own number."""
    reader, writer = os.pipe()
    command = ["Xvfb", "-displayfd", str(writer), "-noreset", "-screen", "0", "1400x900x24"]
    server = subprocess.Popen(command, pass_fds=[writer], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writer)
    with os.fdopen(reader) as number:
        yield f":{number.readline().strip()}"
    server.terminate()
    server.wait()


def properties(window: str, display: str) -> dict[str, str]:
    """What the window says about itself, by property name."""
    answer = subprocess.run(
        ["xprop", "-display", display, "-id", window], capture_output=True, text=True, errors="replace", check=False
    )
    return dict(re.findall(r"^(\w+)\(\w+\) = (.+)$", answer.stdout, re.MULTILINE))


def main_window(display: str) -> dict[str, str]:
    """Waits for the window that carries the program's name."""
    search = ["xdotool", "search", "--onlyvisible", "--name", f"{APP_NAME}$"]
    for _ in range(240):
        found = subprocess.run(
            search, env={**os.environ, "DISPLAY": display}, capture_output=True, text=True, check=False
        )
        for window in found.stdout.split():
            said = properties(window, display)
            if "WM_CLASS" in said:
                return said
        time.sleep(0.5)
    raise AssertionError("no window appeared")


def test_the_menu_entry_opens_the_window_under_its_own_name(
    display: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data home"))
    monkeypatch.delenv("QT_QPA_PLATFORM")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", display)
    assert front_door.main(["--install-shortcut"]) == 0
    entry = tmp_path / "data home" / "applications" / f"{APP_ID}.desktop"

    # Not captured: the window inherits the streams, and a pipe would stay open as long as it does.
    silent = subprocess.DEVNULL
    subprocess.run(["gio", "launch", str(entry)], cwd=tmp_path, check=True, stdin=silent, stdout=silent, stderr=silent)
    window = main_window(display)
    os.kill(int(window["_NET_WM_PID"]), signal.SIGTERM)

    assert window["WM_CLASS"].split(", ")[0] == f'"{APP_ID}"'
    assert window["_KDE_NET_WM_DESKTOP_FILE"] == f'"{APP_ID}"'
