"""Preferences: sections that fit a small screen, the device of new configurations, and the cache."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSize, Qt
from pytestqt.qtbot import QtBot

from studio.services.app_settings import AppSettings
from studio.state.context import PRESET_PREFIX, AppContext
from studio.state.drafts.draft import Draft
from studio.window.preferences import PreferencesDialog
from tests.studio.window_driver import answer_next_question, open_window
from training.caches.users import use_caches
from training.config import save_config
from training.presets import preset_names, preset_text
from training.system.places import cache_folder
from training.toml_text import read_table, read_toml

DEVICE = "precision.device"


def open_preferences(qtbot: QtBot, context: AppContext, section: str) -> PreferencesDialog:
    """The dialog, shown, at a section."""
    dialog = PreferencesDialog(context)
    qtbot.addWidget(dialog)
    dialog.show_section(section)
    dialog.show()
    return dialog


def test_they_fit_a_small_screen_at_every_size_of_the_text(qtbot: QtBot, context: AppContext) -> None:
    window = open_window(qtbot, context)
    window.resize(1000, 600)
    for size in (90, 100, 150):
        context.settings.update(text_size=size)
        dialog = PreferencesDialog(context, window)
        qtbot.addWidget(dialog)
        dialog.show()
        assert dialog.size().boundedTo(QSize(1000, 600)) == dialog.size()
        assert dialog.minimumSizeHint().boundedTo(QSize(1000, 600)) == dialog.minimumSizeHint()
        dialog.close()


def test_new_configurations_begin_with_the_device_that_was_chosen(
    qtbot: QtBot, context: AppContext, tmp_path: Path
) -> None:
    dialog = open_preferences(qtbot, context, "Training")
    qtbot.waitUntil(lambda: context.engine.info is not None)
    dialog.device.setCurrentIndex(dialog.device.findData("cpu"))
    kept = tmp_path / "kept.toml"
    config = context.draft.config()
    assert config is not None
    save_config(config, kept)
    dialog._on_accepted()
    assert context.settings.get().device == "cpu"
    assert context.draft.value(DEVICE) == "auto"  # what is in the forms stays
    assert context.open_config(f"{PRESET_PREFIX}spiral")
    assert context.draft.value(DEVICE) == "cpu"
    assert context.open_config(str(kept))
    assert context.draft.value(DEVICE) == "auto"  # as the file says
    context.draft.load_preset()
    assert context.draft.value(DEVICE) == "cpu"


def test_presets_leave_the_device_open() -> None:
    said = {name: read_table(read_toml(preset_text(name), name), "precision") for name in preset_names()}
    assert not [name for name, precision in said.items() if "device" in precision]
    assert Draft(None, lambda: "mps").value(DEVICE) == "mps"
    assert Draft().value(DEVICE) == "auto" == AppSettings().device


def test_a_device_that_is_gone_stays_chosen_and_is_told(qtbot: QtBot, context: AppContext) -> None:
    context.settings.update(device="cuda:1")
    dialog = open_preferences(qtbot, context, "Training")
    qtbot.waitUntil(lambda: "(the engine in use has none)" in dialog.device.currentText())
    dialog._on_accepted()
    assert context.settings.get().device == "cuda:1"


def test_the_cache_is_cleared_when_nobody_trains(qtbot: QtBot, context: AppContext) -> None:
    code = cache_folder() / "compiled" / "0123abcd"
    code.mkdir(parents=True)
    (code / "code.so").write_bytes(bytes(5000))
    dialog = open_preferences(qtbot, context, "Storage")
    cache = dialog.cache
    qtbot.waitUntil(lambda: cache.taken.text() == "5 kB of compiled code")
    with use_caches():
        asked = answer_next_question(qtbot, "Clear")
        qtbot.mouseClick(cache.clear, Qt.MouseButton.LeftButton)
        assert asked == ["Clear the cache?"]
        qtbot.waitUntil(lambda: "Something is being trained" in cache.problem.text())
        assert code.exists()
    answer_next_question(qtbot, "Cancel")
    qtbot.mouseClick(cache.clear, Qt.MouseButton.LeftButton)
    assert code.exists()
    answer_next_question(qtbot, "Clear")
    qtbot.mouseClick(cache.clear, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: cache.taken.text() == "Empty")
    assert not code.exists()
    assert cache.problem.isHidden()
    assert not cache.clear.isEnabled()
