"""Settings, crash reports, staying awake: what must work on the worst day."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from operator import truediv
from pathlib import Path

import pytest
from PySide6.QtCore import QThread
from pytestqt.qtbot import QtBot

from studio.engine.deaths import explain_exit
from studio.identity import VERSION
from studio.services.app_settings import AppSettings, load_settings, save_settings
from studio.services.background import Background, Refresher
from studio.services.crash import Crash, CrashReporter, CrashReports, read_report
from studio.services.keep_awake import KeepAwake, inhibitor_command
from studio.services.settings import SettingsStore
from training.errors import Canceled, InputError


def test_settings_survive_a_round_trip_and_a_bad_file(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "settings.json"
    settings = AppSettings(theme="dark", smoothing=0.9, engine_in_process=True)
    save_settings(path, settings)
    assert load_settings(path) == settings
    path.write_text(json.dumps({"theme": 3, "smoothing": 1, "later": [], "keep_awake": "yes"}))
    assert load_settings(path) == AppSettings(smoothing=1.0)
    for garbage in ("", "[]", "{"):
        path.write_text(garbage)
        assert load_settings(path) == AppSettings()


def test_what_a_newer_version_wrote_is_kept_and_told(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"version": "9.1.0", "theme": "dark", "later": {"kept": [1, 2]}}))
    store = SettingsStore(path)
    store.update(smoothing=0.5)
    store.update(theme="light")
    kept = json.loads(path.read_text())
    assert (kept["version"], kept["later"], kept["theme"]) == ("9.1.0", {"kept": [1, 2]}, "light")
    assert store.newer_version == "9.1.0"
    for older in ("0.0.9", 3, None, "", "what"):
        path.write_text(json.dumps({"version": older}))
        assert store.newer_version == ""
    store.update(smoothing=0.6)
    assert json.loads(path.read_text())["version"] == VERSION


def test_settings_tell_only_of_real_changes(qtbot: QtBot, tmp_path: Path) -> None:
    store = SettingsStore(tmp_path / "settings.json")
    with qtbot.assertNotEmitted(store.changed):
        store.update(theme="system")
    with qtbot.waitSignal(store.changed):
        store.update(theme="dark")
    assert SettingsStore(tmp_path / "settings.json").get().theme == "dark"


def test_a_place_that_cannot_be_written_is_no_reason_to_stop(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING):
        save_settings(tmp_path / "file" / "settings.json", AppSettings())
    assert "could not be written" in caplog.text


def test_a_report_that_cannot_be_kept_is_shown_all_the_same(qtbot: QtBot, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    reporter = CrashReporter(CrashReports(tmp_path / "file" / "crashes", tmp_path / "no.log"))
    crashes: list[Crash] = []
    reporter.reported.connect(crashes.append)
    try:
        raise ValueError("the moon is full")
    except ValueError as error:
        reporter._on_exception(type(error), error, error.__traceback__)
    assert "ValueError: the moon is full" in crashes[0].text
    assert "Qt 6." in crashes[0].text
    assert crashes[0].path is None


def test_the_newest_ten_reports_are_kept_and_read_ones_not_offered(tmp_path: Path) -> None:
    log = tmp_path / "program.log"
    log.write_text("early\n" * 10_000 + "the last words")
    reports = CrashReports(tmp_path / "crashes", log)
    paths = [reports.write(f"error {number}") for number in range(13)]
    unread = reports.unread()
    assert [read_report(path).splitlines()[0] for path in unread] == [f"error {n}" for n in range(12, 2, -1)]
    assert read_report(unread[0]).rstrip().endswith("the last words")
    assert unread[0].stat().st_size < 20_000
    reports.mark_read(unread[0])
    reports.mark_read(unread[0])  # another window was quicker
    assert paths[12] not in reports.unread()
    assert len(reports.unread()) == 9
    assert len(list(reports.folder.iterdir())) == 10


def test_the_inhibitor_ends_with_the_process_it_is_tied_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    command = inhibitor_command(42, "linux")
    assert command is not None
    assert command[0] == "systemd-inhibit"
    assert "--pid=42" in command
    assert inhibitor_command(42, "darwin") == ["caffeinate", "-i", "-w", "42"]
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert inhibitor_command(42, "linux") is None


@pytest.mark.skipif(sys.platform == "win32", reason="a process only elsewhere")
def test_holding_and_releasing(monkeypatch: pytest.MonkeyPatch) -> None:
    awake = KeepAwake()
    words = [sys.executable, "-c", "import time; time.sleep(60)"]
    monkeypatch.setattr("studio.services.keep_awake.inhibitor_command", lambda pid: words)
    awake.hold(os.getpid())
    process = awake._process
    assert process is not None
    assert awake.held
    awake.hold(os.getpid())
    assert awake._process is process
    awake.release()
    assert process.returncode is not None
    assert not awake.held
    monkeypatch.setattr("studio.services.keep_awake.inhibitor_command", lambda pid: ["/no/such/program"])
    awake.hold(os.getpid())
    assert not awake.held


def test_background_work_answers_in_the_gui_thread(qtbot: QtBot, background: Background) -> None:
    here = QThread.currentThread()
    answers: list[tuple[object, bool]] = []

    def note(value: object) -> None:
        answers.append((value, QThread.currentThread() is here))

    background.submit(lambda: QThread.currentThread() is here, note, note)
    background.submit(lambda: 1 // 0, note, lambda error: note(type(error)))
    qtbot.waitUntil(lambda: len(answers) == 2)
    assert answers == [(False, True), (ZeroDivisionError, True)]


def test_only_unforeseen_failures_of_background_work_are_logged_with_a_traceback(
    qtbot: QtBot, background: Background, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    answers: list[object] = []

    def fail(error: Exception) -> None:
        raise error

    for error in (Canceled("Canceled."), InputError("There is no file x."), ValueError("unforeseen")):
        background.submit(partial(fail, error), answers.append, answers.append)
    qtbot.waitUntil(lambda: len(answers) == 3)
    logged = [(each.getMessage(), bool(each.exc_info)) for each in caplog.records]
    assert logged == [("Background work came to nothing: There is no file x.", False), ("Background work failed", True)]


def test_what_is_asked_for_while_it_is_done_is_done_once_more(qtbot: QtBot, background: Background) -> None:
    turns: list[int] = []
    answers: list[object] = []

    def prepare() -> Callable[[], int]:
        turns.append(turn := len(turns) + 1)
        return lambda: turn if turn != 2 else turn // 0

    refresher = Refresher(background, prepare, answers.append, lambda error: answers.append(type(error)))
    for _ in range(3):
        refresher.ask()
    qtbot.waitUntil(lambda: len(answers) == 2)
    assert (turns, answers) == ([1, 2], [1, ZeroDivisionError])
    refresher.ask()  # after a failure, too
    qtbot.waitUntil(lambda: len(answers) == 3)
    assert (turns, answers) == ([1, 2, 3], [1, ZeroDivisionError, 3])


def test_what_is_asked_for_while_it_fails_is_done_once_more(qtbot: QtBot, background: Background) -> None:
    divisors = [0, 1]
    answers: list[object] = []
    refresher = Refresher(
        background,
        lambda: partial(truediv, 1, divisors.pop(0)),
        answers.append,
        lambda error: answers.append(type(error)),
    )
    refresher.ask()
    refresher.ask()
    qtbot.waitUntil(lambda: answers == [ZeroDivisionError, 1.0])


def test_closed_background_delivers_nothing_more(qtbot: QtBot, background: Background) -> None:
    answers: list[object] = []
    background.submit(lambda: time.sleep(0.1), answers.append, answers.append)
    background.submit(lambda: 2, answers.append, answers.append)
    background.close()
    qtbot.wait(50)
    assert answers == []


@pytest.mark.parametrize(
    ("code", "log", "words"),
    [
        (1, "ModuleNotFoundError: No module named 'torch'", "PyTorch is not installed"),
        (
            -6,
            "ModuleNotFoundError: No module named 'torchvision'\nFatal Python error: aborted",
            "torchvision is not installed",
        ),
        (1, "/usr/bin/python: No module named training\n", "Trainwright itself is not installed"),
        (1, "ModuleNotFoundError: No module named 'training'", "Trainwright itself is not installed"),
        (1, "ModuleNotFoundError: No module named 'pydantic_core.x'", "lacks the module pydantic_core"),
        (1, "The package psutil is missing, which this needs; install it, or all", "lacks the module psutil"),
        (1, "ImportError: libcudart.so.13: cannot open shared object file", "libcudart.so.13"),
        (-9, "", "SIGKILL"),
        (-11, "", "native code (SIGSEGV)"),
        (-15, "", "ended by SIGTERM"),
        (0xC0000006, "", "could no longer be read"),
        (0xC0000005, "", "an access violation"),
        (3, "", "exit code 3"),
        (-11, "Fatal Python error: Bus error\n\nThread 0x7f01", "mapped into memory"),
    ],
)
def test_every_end_of_an_engine_has_a_sentence(code: int, log: str, words: str) -> None:
    assert words in explain_exit(code, log, "/usr/bin/python").sentence


def test_a_native_crash_names_the_place() -> None:
    log = (
        "Fatal Python error: Segmentation fault\n\nThread 0x7f01 (most recent call first):\n"
        '  File "/a/serve.py", line 7 in _lines\n\nCurrent thread 0x7f02 (most recent call first):\n'
        '  File "/a/torch/conv.py", line 453 in forward\n  File "/a/module.py", line 9 in call\n'
    )
    assert explain_exit(-11, log, "python").advice == "It was in forward (conv.py, line 453)."


def test_a_python_without_trainwright_says_so() -> None:
    empty = subprocess.run(
        [sys.executable, "-I", "-S", "-m", "training", "serve"], capture_output=True, text=True, check=False
    )
    death = explain_exit(empty.returncode, empty.stderr, sys.executable)
    assert "Trainwright itself is not installed" in death.sentence
