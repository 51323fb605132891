"""How long a person waits: for the window, from Start to the first step, and for a run in a terminal.

    python -m tests.benchmarks.start [--rounds 9] [--runs 3] [--peers-python PATH]

* first paint: from the start of the process to the first frame of the real window, with fresh and with used settings,
  against a bare PySide6 window with a label in the same harness, interleaved; a ratio of medians.
* Start: from pressing the button, with a warm engine, to the first step, on the spiral; the first run of a session and
  the ones after it (the data is there already).
* cold: from ``python -m training run`` to the first step; beside it, interleaved, the same job as an Accelerate script,
  where ``--peers-python`` has Accelerate (README.md), and the ratio of the medians.
* a bad argument: until ``python -m training run missing.toml`` has ended.

Needs a display, or QT_QPA_PLATFORM=offscreen. ``first row`` is when the step can be read: rows are written ten times a
second, so up to a tenth of a second after the step.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from training.config.files import apply_overrides, dump_config, parse_config
from training.presets import preset_text
from training.runs.folder import RunFolder
from training.runs.workspace import run_folders
from training.toml_text import read_toml

PATIENCE_SECONDS = 300.0

BARE = """
import sys, time, os
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QLabel, QVBoxLayout, QWidget

class Window(QWidget):
    def paintEvent(self, event):
        super().paintEvent(event)
        QTimer.singleShot(0, tell)

def tell():
    print(time.time(), flush=True)
    os._exit(0)

app = QApplication([])
window = Window()
QVBoxLayout(window).addWidget(QLabel("Trainwright"))
window.resize(1280, 800)
window.show()
app.exec()
"""

OURS = """
import sys, time, os
import studio.__main__, studio.app

def tell():
    print(time.time(), flush=True)
    os._exit(0)

load_settings = studio.app.load_settings

def watched(path):  # the last thing before Qt: what is imported here the program would have imported next
    from PySide6.QtCore import QTimer
    from studio.window.main_window import MainWindow

    paint = MainWindow.paintEvent

    def painted(window, event):
        paint(window, event)
        QTimer.singleShot(0, tell)

    MainWindow.paintEvent = painted
    return load_settings(path)

studio.app.load_settings = watched
studio.__main__.main([])
"""

PRESSED = """
import sys, time
import studio.app
from studio import launch
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QPushButton
from studio.engine.messages import EngineState

runs = int(sys.argv[2])
real = launch.Application.open_window

def open_window(self, config, start):
    real(self, config, start)
    context, window = self.context, self.window
    left = [runs]

    def press():
        if context.engine.state is not EngineState.READY or context.start_problem():
            QTimer.singleShot(50, self, press)
            return
        window.show_page("setup")
        button = next(b for b in window.findChildren(QPushButton) if b.text() == "Start training" and b.isVisible())
        left[0] -= 1
        print(time.time(), flush=True)
        button.click()

    def finished(record):
        if left[0]:
            QTimer.singleShot(1000, self, press)
        else:
            QTimer.singleShot(0, self, window.controller.closing.stop_and_close)

    context.engine.run_finished.connect(finished)
    QTimer.singleShot(1500, self, press)

launch.Application.open_window = open_window
sys.exit(studio.app.main([sys.argv[1]]))
"""


def environment(place: Path) -> dict[str, str]:
    """Settings, logs and runs of one process of their own.

    Byte code is kept in one folder for all of them, whatever the shell says: an installed program has it, and a start
    that compiles its own modules, while those of Qt come compiled, tells nothing.
    """
    own = {f"XDG_{kind}_HOME": str(place / kind.lower()) for kind in ("CONFIG", "STATE")}
    own |= {"TRAINWRIGHT_WORKSPACE": str(place / "workspace"), "PYTHONUNBUFFERED": "1"}
    own |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(place.parent / "bytecode")}
    return os.environ | own


def first_paint(program: str, place: Path) -> float:
    """Seconds from the start of the process to its first frame."""
    began = time.time()
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment(place), capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1]) - began


def use(place: Path, config: Path) -> None:
    """Leave settings, a draft and a run behind, as a session does."""
    pressed(place, config, runs=1)


def pressed(place: Path, config: Path, runs: int) -> list[tuple[float, float]]:
    """Seconds from Start to the first step, and to its row, of each of ``runs`` runs of one session."""
    command = [sys.executable, "-c", PRESSED, str(config), str(runs)]
    waits: list[tuple[float, float]] = []
    with subprocess.Popen(command, env=environment(place), stdout=subprocess.PIPE, text=True) as window:
        assert window.stdout is not None
        try:
            for line in window.stdout:
                before = len(waits)
                while len(folders := run_folders(place / "workspace")) == before:
                    time.sleep(0.002)
                newest = folders[-1]
                row = row_time(newest)
                waits.append((training_began(newest) - float(line), row - float(line)))
        finally:
            window.terminate()
    return waits


def cold(place: Path, config: Path) -> tuple[float, float]:
    """The same from the start of a process in a terminal."""
    workspace = place / "workspace"
    command = [sys.executable, "-m", "training", "run", str(config), "--workspace", str(workspace)]
    began = time.time()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env=environment(place), **quiet):  # type: ignore[call-overload]
        while not (folders := run_folders(workspace)):
            time.sleep(0.005)
        row = row_time(folders[0])
    return training_began(folders[0]) - began, row - began


def accelerate(place: Path, python: str) -> float:
    """Seconds from the start of an Accelerate script of the same job to the end of its first step."""
    began = time.time()
    command = [python, "-m", "tests.benchmarks.spiral_accelerate"]
    done = subprocess.run(command, env=environment(place), capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1]) - began


def bad_argument(place: Path) -> float:
    """Seconds until a configuration file that is not there was told."""
    began = time.time()
    command = [sys.executable, "-m", "training", "run", "missing.toml"]
    subprocess.run(command, env=environment(place), capture_output=True, check=False)
    return time.time() - began


def row_time(folder: RunFolder) -> float:
    """When the first row of the run can be read."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not folder.telemetry_file.exists() or not folder.telemetry_file.stat().st_size > 64:
        if time.monotonic() > deadline:
            raise SystemExit("The run did not begin in time.")
        time.sleep(0.002)
    return time.time()


def training_began(folder: RunFolder) -> float:
    """When the engine said that it trains: the next thing it does is the first step."""
    for line in folder.events_file.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event.get("phase") == "training":
            return float(event["time"])
    raise SystemExit("The run never trained.")


def spiral(place: Path) -> Path:
    """The built-in spiral, of a few seconds."""
    data = read_toml(preset_text("spiral"), "spiral")
    apply_overrides(data, ["loop.epochs=20"])
    file = place / "spiral.toml"
    file.write_text(dump_config(parse_config(data)))
    return file


def in_words(values: list[float]) -> str:
    return f"{statistics.median(values):6.3f} s ({min(values):.3f} to {max(values):.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="of the first paint")
    parser.add_argument("--runs", type=int, default=3, help="of a session, and as many sessions and cold starts")
    parser.add_argument("--peers-python", help="the interpreter of an environment with Accelerate")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        config = spiral(place)
        use(place / "used", config)
        # As ``use`` does for ours: the first of its kind compiles, and is not counted.
        first_paint(BARE, place / "bare")
        cold(place / "terminal", config)
        if arguments.peers_python:
            accelerate(place / "peer", arguments.peers_python)
        paints: dict[str, list[float]] = {"bare": [], "fresh settings": [], "used settings": []}
        for number in range(arguments.rounds):
            paints["bare"].append(first_paint(BARE, place / "bare"))
            paints["fresh settings"].append(first_paint(OURS, place / f"fresh{number}"))
            paints["used settings"].append(first_paint(OURS, place / "used"))
        print(f"first paint, {arguments.rounds} rounds interleaved")
        for title, values in paints.items():
            ratio = statistics.median(values) / statistics.median(paints["bare"])
            print(f"  {title:<16} {in_words(values)}  {ratio:.2f} x bare")
        first: list[tuple[float, float]] = []
        later: list[tuple[float, float]] = []
        terminal: list[tuple[float, float]] = []
        peer: list[float] = []
        refused: list[float] = []
        for number in range(arguments.runs):
            waits = pressed(place / f"session{number}", config, arguments.runs)
            first.append(waits[0])
            later += waits[1:]
        for number in range(arguments.runs):  # when no window's engine is still on its way out
            terminal.append(cold(place / f"cold{number}", config))
            peer += [accelerate(place / "peer", arguments.peers_python)] if arguments.peers_python else []
            refused.append(bad_argument(place / "refused"))
        print(f"to the first step of the spiral, {arguments.runs} sessions of {arguments.runs} runs")
        for title, pairs in (("Start, first", first), ("Start, later", later), ("cold, terminal", terminal)):
            if pairs:
                steps, rows = (list(values) for values in zip(*pairs, strict=True))
                print(f"  {title:<16} {in_words(steps)}   first row {in_words(rows)}")
        if peer:
            ratio = statistics.median(row for _step, row in terminal) / statistics.median(peer)
            print(f"  Accelerate       {in_words(peer)}   first row of ours {ratio:.2f} x")
        print(f"until a bad argument is told: {in_words(refused)}")


if __name__ == "__main__":
    main()
