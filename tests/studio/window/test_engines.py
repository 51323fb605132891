"""Engines in the preferences, with real environments: tried, chosen, added, removed, and installed from stand-in wheels."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from studio.actions.question import Question
from studio.state.context import AppContext
from studio.state.engines import engines_of
from studio.widgets import Banner, Toast
from studio.window import engine_install, engine_notice
from studio.window.engine_notice import ENGINES
from studio.window.engines import EngineRow
from studio.window.preferences import PreferencesDialog
from tests.studio.conftest import MakeHost
from tests.studio.keyboard_walk import wait_for_soundness
from tests.studio.window_driver import answer_next_dialog, answer_next_question, open_window, press
from tests.training.engines.stand_ins import make_python, serve_index, write_index
from training.config import RunConfig
from training.engines.change import add_engine
from training.engines.kinds import Machine
from training.engines.places import engines_folder, list_added
from training.environment import Environment
from training.queue.store import Queue
from training.runs.folder import claim, create_run, release
from training.system.gpus import NvidiaTraces

MakeConfig = Callable[..., RunConfig]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the environments here are POSIX's")


@pytest.fixture(autouse=True)
def few_pythons(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine's own are left out: trying each takes a second."""
    monkeypatch.setattr("training.engines.search._system_pythons", lambda: iter(()))
    monkeypatch.setenv("PYENV_ROOT", "/no/such/folder")
    monkeypatch.setattr("training.engines.search.is_frozen", lambda: True)
    monkeypatch.setattr("training.engines.search.find_checkout", lambda: None)


@pytest.fixture
def dialog(qtbot: QtBot, context: AppContext) -> Iterator[PreferencesDialog]:
    made = PreferencesDialog(context)
    qtbot.addWidget(made)
    made.show_section(ENGINES)
    made.show()
    yield made
    made.close()


def row_of(qtbot: QtBot, dialog: PreferencesDialog, name: str) -> EngineRow:
    """The row of an engine, once it was tried."""

    def find() -> EngineRow | None:
        rows = [row for row in dialog.engines.rows if row.engine.found.name == name and row.engine.verdict is not None]
        return rows[0] if rows else None

    qtbot.waitUntil(lambda: find() is not None)
    found = find()
    assert found is not None
    return found


def read(row: EngineRow) -> str:
    return "\n".join(each.text() for each in row.findChildren(QLabel) if not each.isHidden())


def test_engines_are_tried_explained_and_chosen(
    qtbot: QtBot, context: AppContext, tmp_path: Path, isolated_home: Path
) -> None:
    for name, torch in (
        ("good", ""),
        ("bare", None),
        ("broken", "raise ImportError('libc10.so: cannot open shared object file')"),
    ):
        add_engine(Path(make_python(tmp_path / name, torch)))
    dialog = PreferencesDialog(context)
    qtbot.addWidget(dialog)
    dialog.show_section(ENGINES)
    dialog.show()
    good = row_of(qtbot, dialog, "good")
    assert "Parts left out" in read(good)
    assert "torchvision is not installed" in read(good)
    assert "torch is not installed in it." in read(row_of(qtbot, dialog, "bare"))
    broken = row_of(qtbot, dialog, "broken")
    assert "torch is broken: its library libc10.so is missing." in read(broken)
    assert broken.use.isHidden()
    row_of(qtbot, dialog, "good").use.click()
    assert context.settings.get().engine_python == str(tmp_path / "good/bin/python")
    assert "In use" in read(row_of(qtbot, dialog, "good"))
    wait_for_soundness(qtbot, dialog)


def test_where_there_is_none_the_way_to_one_is_told(qtbot: QtBot, dialog: PreferencesDialog) -> None:
    words = "No Python that can train was found: install an engine below."
    qtbot.waitUntil(lambda: any(each.text() == words for each in dialog.engines.findChildren(QLabel)))


def test_one_is_added_by_its_folder_and_removed_again(
    qtbot: QtBot, context: AppContext, dialog: PreferencesDialog, tmp_path: Path
) -> None:
    python = make_python(tmp_path / "mine")
    dialog.engines.path.set_path(str(tmp_path / "mine"))
    dialog.engines.add.click()
    row = row_of(qtbot, dialog, "mine")
    assert dialog.engines.path.path() == ""
    row.use.click()
    asked = answer_next_question(qtbot, "Remove")
    row_of(qtbot, dialog, "mine").remove.click()
    qtbot.waitUntil(lambda: asked == ["Remove the engine mine?"])
    qtbot.waitUntil(lambda: list_added() == [])
    assert Path(python).exists()
    row_of(qtbot, dialog, "mine")  # still the one in use
    qtbot.waitUntil(lambda: not engines_of(context).trying)
    dialog.engines.path.set_path(str(tmp_path / "nothing"))
    dialog.engines.add.click()
    qtbot.waitUntil(lambda: "There is no file" in dialog.engines.problem.text())
    assert dialog.engines.path.path() == str(tmp_path / "nothing")  # a slip can be mended
    assert dialog.engines.install.result.isHidden()
    dialog.reject()
    again = PreferencesDialog(context)
    qtbot.addWidget(again)
    assert again.engines.problem.isHidden()


def test_one_that_is_gone_while_chosen_is_said(
    qtbot: QtBot, context: AppContext, dialog: PreferencesDialog, tmp_path: Path
) -> None:
    python = make_python(tmp_path / "doomed")
    context.settings.update(engine_python=python)
    shutil.rmtree(tmp_path / "doomed")
    engines_of(context).refresh()
    row = row_of(qtbot, dialog, "doomed")
    assert "Gone" in read(row)
    assert f"There is no file {python} any more." in read(row)


def test_removing_one_asks_for_runs_that_were_computed_by_it(
    qtbot: QtBot, context: AppContext, dialog: PreferencesDialog, tmp_path: Path, workspace: Path, config: MakeConfig
) -> None:
    python = make_python(tmp_path / "mine")
    add_engine(Path(python))
    run = create_run(workspace, config("unfinished"))
    run.environment_file.write_text(Environment(executable=python).model_dump_json(exclude_unset=True))
    engines_of(context).refresh()
    Queue(workspace).add(config("queued"), python=python)
    read_in_it = answer_next_dialog(qtbot, Question, "Cancel")
    row_of(qtbot, dialog, "mine").remove.click()
    qtbot.waitUntil(lambda: bool(read_in_it))
    told = "\n".join(read_in_it)
    assert f"It computed 1 unfinished run: {run.id}." in told
    assert "The queue has 1 run for it: queued." in told
    claim(run.path)
    engines_of(context).remove(row_of(qtbot, dialog, "mine").engine)
    qtbot.waitUntil(lambda: dialog.engines.problem.text().startswith(f"The engine mine is training {run.id}."))
    assert list_added() == [python]
    release(run.path)


@pytest.mark.slow
def test_an_engine_is_installed_canceled_gone_on_with_and_used(
    qtbot: QtBot, context: AppContext, dialog: PreferencesDialog, tmp_path: Path
) -> None:
    card = dialog.engines.install
    with serve_index(write_index(tmp_path / "index")) as server:
        server.gate.clear()
        card.kind.set_current("cpu")
        card.index.setText(server.address)
        assert f"from {server.address}" in card.plan.text()
        card.start.click()
        assert (card.start.isHidden(), card.cancel.isHidden()) == (True, False)
        assert card.cancel.text() == "Cancel installation"  # the dialog has a Cancel of its own
        qtbot.waitUntil(server.reached.is_set)
        qtbot.waitUntil(lambda: "Downloading" in card.line.accessibleName())
        card.cancel.click()
        qtbot.waitUntil(lambda: card.start.text() == "Go on" and card.start.isVisible())
        assert card.line.accessibleName().startswith("Not finished; it was downloading ")
        server.gate.set()
        card.start.click()
        qtbot.waitUntil(lambda: card.result.text().startswith("Installed: PyTorch 2.13.0+cpu (CPU)."))
    row = row_of(qtbot, dialog, "cpu")
    assert "Ready" in read(row)
    row.use.click()
    assert context.settings.get().engine_python == str(engines_folder() / "cpu/bin/python")
    assert context.settings.get().engine_index == server.address
    answer_next_question(qtbot, "Remove")
    row_of(qtbot, dialog, "cpu").remove.click()
    qtbot.waitUntil(lambda: not (engines_folder() / "cpu").exists())
    qtbot.waitUntil(lambda: "Gone" in read(row_of(qtbot, dialog, "cpu")))


@pytest.mark.slow
def test_an_index_that_is_away_is_told(
    qtbot: QtBot, context: AppContext, dialog: PreferencesDialog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_RETRIES", "1")
    card = dialog.engines.install
    card.kind.set_current("cpu")
    card.index.setText("http://127.0.0.1:1/simple")
    card.start.click()
    qtbot.waitUntil(lambda: "cannot be reached" in card.result.text())
    assert card.result.property("role") == "problem"
    assert (card.start.text(), card.start.isEnabled()) == ("Install", True)
    dialog.reject()
    again = PreferencesDialog(context)
    qtbot.addWidget(again)
    assert again.engines.problem.isHidden()
    assert "cannot be reached" in again.engines.install.result.text()  # below the card it is about


def test_a_kind_that_makes_no_sense_says_why(
    qtbot: QtBot, context: AppContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_install, "look_at_this_machine", lambda: Machine("linux", "x86_64"))
    dialog = PreferencesDialog(context)
    qtbot.addWidget(dialog)
    card = dialog.engines.install
    assert card.kind.current() == "cpu"
    for kind, reason in {"cuda": "No NVIDIA GPU", "rocm": "No AMD GPU", "apple": "Only for Macs"}.items():
        card.kind.set_current(kind)
        assert reason in card.plan.text()
        assert not card.start.isEnabled()
    card.kind.set_current("cpu")
    assert card.start.isEnabled()


def test_a_gpu_that_is_not_used_is_said_at_the_start(
    qtbot: QtBot, context: AppContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvidia = Machine("linux", "x86_64", NvidiaTraces(True, "580.1"))
    monkeypatch.setattr(engine_notice, "look_at_this_machine", lambda: nvidia)
    window = open_window(qtbot, context)
    said = "This machine has an NVIDIA GPU, and training uses the CPU"

    def banners() -> list[Banner]:
        return [each for each in window.controller.notices.findChildren(Banner) if said in each.accessibleName()]

    qtbot.waitUntil(lambda: len(banners()) == 1)
    opened: list[str] = []
    monkeypatch.setattr(PreferencesDialog, "exec", lambda self: opened.append(self.sections.currentItem().text()))
    press(banners()[0], "Engines …")
    assert opened == [ENGINES]
    banners()[0]._close.click()
    assert context.settings.get().gpu_left_alone


def test_an_engine_that_does_not_start_leads_to_the_others(
    qtbot: QtBot, make_host: MakeHost, workspace: Path, context: AppContext
) -> None:
    broken = AppContext(workspace, context.settings, make_host(["/no/such/python"]))
    window = open_window(qtbot, broken)
    qtbot.waitUntil(
        lambda: any(
            "Nothing can be trained" in each.accessibleName() for each in window.controller.notices.findChildren(Banner)
        )
    )
    qtbot.wait(100)
    assert not window.controller.toasts.findChildren(Toast)  # it was said
    broken.background.close()


def test_the_python_of_the_tests_is_the_one_in_use(context: AppContext) -> None:
    assert engines_of(context).chosen == sys.executable
