"""Every click that takes something away can be taken back: the acts in one list, each done and undone in a real window.

What lies elsewhere: steps cleared away (``pages_run/test_rewind.py``), checkpoints deleted (``pages_run/test_checkpoint_tree.py``), runs
deleted, renamed, archived, tagged (``pages_runs``), samples excluded (``pages_evaluate``), images, rows and classes excluded and duplicates
removed (``pages_data``), exports deleted or taken from the list (``pages_models``), single settings (``state/test_draft.py``). Final, and
asked about: emptying the trash, removing a key.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from studio.actions import discarding
from studio.actions.configurations import ask_and_save
from studio.engine.state import RunState
from studio.pages.runs import view_menu
from studio.state.context import PRESET_PREFIX, AppContext
from tests.studio.conftest import ENDLESS
from tests.studio.window_driver import answer_next_question, open_window, press, run_page, runs_page
from training.config import RunConfig
from training.control import Command
from training.presets import PRESETS

MakeConfig = Callable[..., RunConfig]


def _open_preset(context: AppContext, at: int) -> None:
    context.open_config(f"{PRESET_PREFIX}{PRESETS[at].name}")


@pytest.mark.parametrize(
    "act",
    [lambda context: _open_preset(context, 1), lambda context: context.draft.load_preset()],
    ids=["preset", "reset"],
)
def test_settings_that_others_took_the_place_of_come_back(
    qtbot: QtBot, context: AppContext, act: Callable[[AppContext], object]
) -> None:
    window = open_window(qtbot, context, "setup")
    _open_preset(context, 2)
    toasts = window.controller.toasts
    assert not toasts.toasts(), "nobody had changed anything"
    context.draft.set("loop.epochs", 77)
    before = context.draft.settings()
    act(context)
    assert context.draft.settings() != before
    context.draft.apply({"name": "named by the dialog"})  # as choosing a preset does
    press(toasts, "Undo")
    assert context.draft.settings() == before
    context.draft.undo()
    assert context.draft.value("name") == "named by the dialog"


def test_a_file_whose_settings_took_the_place_of_others_is_named(
    qtbot: QtBot, context: AppContext, tmp_path: Path
) -> None:
    window = open_window(qtbot, context, "setup")
    file = tmp_path / "other.toml"
    for text in ("[loop]\nepochs = 2\n", "[loop]\nepochs = 0\n"):  # the second one is to be put right in the forms
        file.write_text(text)
        context.draft.set("loop.epochs", 77)
        assert context.open_config(str(file))
        [toast] = window.controller.toasts.toasts()
        assert toast.title == "The settings of other.toml are in the forms"
        press(window.controller.toasts, "Undo")
        assert context.draft.value("loop.epochs") == 77


def test_discarding_progress_waits_a_moment_in_which_nothing_is_lost(
    qtbot: QtBot, context: AppContext, config: MakeConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window(qtbot, context)
    page, live = run_page(window), context.live
    context.start_run(config(epochs=ENDLESS, milliseconds=10))
    qtbot.waitUntil(lambda: live.state is RunState.TRAINING and live.progress.step >= 5)
    page.header.asked.emit(Command.STOP_NOW)
    qtbot.waitUntil(lambda: live.state is RunState.PAUSED)
    step = live.progress.step
    press(window.controller.toasts, "Undo")
    qtbot.waitUntil(lambda: live.state is RunState.TRAINING and live.progress.step > step)
    assert not window.controller.toasts.toasts()

    page.header.asked.emit(Command.STOP_NOW)
    page.header.asked.emit(Command.CONTINUE)  # by its own button: it is not stopped later, either
    assert not window.controller.toasts.toasts()
    monkeypatch.setattr(discarding, "SECONDS", 0.0)
    page.header.asked.emit(Command.STOP_NOW)
    qtbot.waitUntil(lambda: live.state is RunState.STOPPED)
    assert not window.controller.toasts.toasts()


def test_a_kept_filter_and_chosen_columns_come_back(
    qtbot: QtBot, context: AppContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window(qtbot, context, "runs")
    page = runs_page(window)
    context.settings.update(run_filters="star\nage < 7d")
    page.filter.line.setText("star")
    page.filter.kept.menu().aboutToShow.emit()
    next(each for each in page.filter.kept.menu().actions() if each.text() == "Forget this filter").trigger()
    assert context.settings.get().run_filters == "age < 7d"
    press(window.controller.toasts.toasts()[-1], "Undo")
    assert context.settings.get().run_filters == "star\nage < 7d"

    before = context.settings.get().run_columns
    monkeypatch.setattr(view_menu, "choose_names", lambda *_: ["seed"])
    page.view.choose_columns()
    assert page.model.keys == ("seed",)
    press(window.controller.toasts.toasts()[-1], "Undo")
    assert context.settings.get().run_columns == before
    assert not page.model.keys


def test_a_file_that_the_dialog_could_not_know_of_is_asked_about(
    qtbot: QtBot, context: AppContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window(qtbot, context, "setup")
    file = tmp_path / "mine.v2.toml"
    file.write_text("precious")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "mine.v2"), ""))
    asked = answer_next_question(qtbot, "Cancel")
    ask_and_save(context, window)
    assert (asked, file.read_text()) == (["Replace mine.v2.toml?"], "precious")
    answer_next_question(qtbot, "Replace")
    ask_and_save(context, window)
    assert "precious" not in file.read_text()
