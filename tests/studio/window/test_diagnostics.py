"""What is told to somebody who looks for the cause of a problem: enough, and nothing of the person's own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio import __main__ as front_door
from studio.services.diagnostics import collect_facts, write_diagnostics
from studio.services.hiding import hide_places
from studio.services.logs import LOG_FILE, log_folder
from studio.state.context import AppContext
from studio.widgets import MonoText
from studio.window.dialogs import AboutDialog, ReportDialog
from tests.studio.window_driver import answer_next_dialog, open_window, press
from training import __version__
from training.engines.answer import Answer, Device
from training.engines.requirements import list_requirements
from training.engines.trial import keep_answer


@pytest.fixture
def log() -> None:
    lines = [f"line {number}" for number in range(500)]
    lines.append("The rows of /data/our patients/2026/birds.csv cannot be read")
    (log_folder() / LOG_FILE).parent.mkdir(parents=True, exist_ok=True)
    (log_folder() / LOG_FILE).write_text("\n".join(lines), encoding="utf-8")


@pytest.mark.usefixtures("log")
def test_about_copies_versions_hardware_engine_and_the_end_of_the_log(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context)

    def copy() -> None:
        dialog = QApplication.activeModalWidget()
        if not isinstance(dialog, AboutDialog):
            QTimer.singleShot(50, copy)
            return
        press(dialog, "Copy diagnostics")

    QTimer.singleShot(50, copy)
    QTimer.singleShot(100, lambda: answer_next_dialog(qtbot, AboutDialog, "Close"))
    window.controller.actions.actions["about"].trigger()
    copied = QGuiApplication.clipboard().text()
    assert f"trainwright: {__version__}" in copied
    assert "processor: " in copied
    assert "engine: " in copied
    assert copied.endswith("line 499\nThe rows of ‹path› cannot be read")
    assert "line 100\n" not in copied
    assert "patients" not in copied
    assert sys.executable not in copied


def test_of_an_engine_only_what_there_is_is_told_in_words(tmp_path: Path) -> None:
    cpu = Device(device="cpu", name="CPU", difference=1e-7)
    versions = dict.fromkeys((each.name for each in list_requirements()), "9999.0") | {"onnx": None}
    answer = Answer(python="3.11.2", packages=versions, training=__version__, torch="2.13.0", devices=(cpu,))
    keep_answer(sys.executable, answer)
    [line] = [each for each in write_diagnostics(sys.executable, tmp_path).splitlines() if each.startswith("engine: ")]
    assert line == (
        "engine: The Python this program runs on; ready, with parts left out; Python 3.11.2 · PyTorch 2.13.0 · CPU · no GPU; "
        "onnx is not installed: export to ONNX is left out."
    )
    told = collect_facts(sys.executable)["engine"]
    assert isinstance(told, dict)
    assert told["devices"] == [{"device": "cpu", "name": "CPU", "difference": 1e-7}]
    assert {"problem", "torchvision", "memory"}.isdisjoint(told)


def test_an_engine_that_nobody_looked_at_is_not_said_to_be_untried(tmp_path: Path) -> None:
    assert collect_facts(sys.executable)["engine"] == {"origin": "own", "state": "unknown"}
    assert (
        "engine: The Python this program runs on; its state is unknown: Preferences, Engines tells it\n"
        in write_diagnostics(sys.executable, tmp_path)
    )


@pytest.mark.usefixtures("log")
def test_a_report_of_a_problem_has_them_too(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context)
    read: list[str] = []

    def look() -> None:
        dialog = QApplication.activeModalWidget()
        if not isinstance(dialog, ReportDialog):
            QTimer.singleShot(50, look)
            return
        read.extend(text.toPlainText() for text in dialog.findChildren(MonoText))
        press(dialog, "Close")

    QTimer.singleShot(50, look)
    window.controller.actions.actions["report"].trigger()
    [report] = read
    assert report.startswith("What I did:")
    assert f"trainwright: {__version__}" in report
    assert report.endswith("line 499\nThe rows of ‹path› cannot be read")


def test_the_version_is_told_to_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert front_door.main(["--version"]) == 0
    assert capsys.readouterr().out == f"Trainwright {__version__}\n"
    assert front_door.main(["--version", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["trainwright"], told["installed"]) == (__version__, "checkout")
    assert {"python", "platform", "processor", "memory", "packages", "engine"} <= set(told)
    assert told["packages"]["numpy"]
    with pytest.raises(SystemExit):
        front_door.main(["--json"])
    assert "--json goes with --version alone" in capsys.readouterr().err


def test_a_line_without_end_is_cut(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("last " + "/data" * 200_000, encoding="utf-8")
    end = write_diagnostics("", tmp_path / "log").splitlines()[-1]
    assert end == "last ‹path›"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            'File "/home/anna/.venv/lib/python3.11/site-packages/torch/nn/a.py", line 3',
            'File "…/site-packages/torch/nn/a.py", line 3',
        ),
        ('File "/home/anna/our patients/net.py", line 3', 'File "…/net.py", line 3'),
        ("[Errno 2] No such file: '/home/anna/x y'", "[Errno 2] No such file: ‹path›"),
        (r"C:\Users\Anna Smith\data\x.csv: is empty", "‹path›: is empty"),
        ("“our patients” was interrupted", "“…” was interrupted"),
        ("patients-mlp-20261128-083312-ab12 cannot be followed", "‹run› cannot be followed"),
        ("/home/anna/My Old Data/cats.csv: is empty", "‹path›: is empty"),
        ("/home/anna/My Old Data: is empty", "‹path›: is empty"),
        ("Opened /home/anna/My Old Data", "Opened ‹path›"),
        ("Opened /home/anna/Photos of Anna Smith.", "Opened ‹path›"),
        ("Read /home/anna/Cats and Dogs (12 files), then stopped", "Read ‹path› (12 files), then stopped"),
        ("/home/anna/My Old Data cannot be read", "‹path› cannot be read"),
        ("/home/anna/My Old Data, which is empty", "‹path›, which is empty"),
        ("/home/anna/what is new/x y.csv is empty", "‹path› is empty"),
        ("Copied /home/anna/My Data to s3://bucket/Anna", "Copied ‹path› to ‹path›"),
        ("https://anna:secret@proxy.org:8080/simple is away", "‹path›:8080/simple is away"),
        ("proxy anna:secret@proxy.org:8080", "proxy proxy.org:8080"),
        ("~/data and s3://bucket/run", "‹path› and ‹path›"),
        ("by anna at 12:30, 3/4 of a/b", "by ‹user› at 12:30, 3/4 of a/b"),
    ],
)
def test_names_and_places_of_a_person_are_hidden(monkeypatch: pytest.MonkeyPatch, text: str, told: str) -> None:
    monkeypatch.setenv("LOGNAME", "anna")
    assert hide_places(text) == told
