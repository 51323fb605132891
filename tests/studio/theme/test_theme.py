"""Both themes are complete and readable, icons follow the theme, and nothing needs a folder that can be written to."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QIcon
from PySide6.QtTest import QSignalSpy
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QDialogButtonBox,
    QGroupBox,
    QLineEdit,
    QListWidget,
    QMenu,
    QMenuBar,
    QMessageBox,
    QPlainTextEdit,
    QProgressBar,
    QProxyStyle,
    QPushButton,
    QRadioButton,
    QScrollBar,
    QSlider,
    QSpinBox,
    QSplitter,
    QStatusBar,
    QStyle,
    QTableWidget,
    QTabWidget,
    QToolButton,
    QTreeWidget,
)
from pytestqt.qtbot import QtBot

from studio.theme import (
    DARK,
    DARK_HIGH,
    LIGHT,
    LIGHT_HIGH,
    Mode,
    Theme,
    apply,
    icon,
    icon_names,
    pixmap,
    set_invalid,
    stylesheet,
    theme,
)


@pytest.fixture(autouse=True)
def plain_afterwards(qapp: QApplication) -> Iterator[None]:
    yield
    apply(qapp, "light")


def ink(picture: QIcon, mode: QIcon.Mode = QIcon.Mode.Normal) -> set[str]:
    """The colors of an icon's fully covered pixels."""
    image = picture.pixmap(QSize(64, 64), mode).toImage()
    colors = (image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height()))
    return {color.name() for color in colors if color.alpha() == 255}


def test_the_same_icon_changes_its_pixels_with_the_theme(qapp: QApplication) -> None:
    apply(qapp, "light")
    picture, accent = icon("trash"), icon("play", "accent")
    assert ink(picture) == {LIGHT.text}
    apply(qapp, "dark")
    assert ink(picture) == {DARK.text}
    assert ink(accent) == {DARK.accent_text}
    assert ink(picture, QIcon.Mode.Disabled) == {DARK.faint}


@pytest.mark.parametrize("ratio", [1.0, 1.5, 2.0])
def test_icons_have_a_pixel_for_every_pixel_of_the_screen(qapp: QApplication, ratio: float) -> None:
    apply(qapp, "light")
    for drawn in (icon("check").pixmap(QSize(16, 16), ratio), pixmap("check", 16, device_pixel_ratio=ratio)):
        assert drawn.width() == round(16 * ratio)
        assert drawn.devicePixelRatio() == ratio


def test_every_icon_draws_something_and_only_real_names_exist(qapp: QApplication) -> None:
    apply(qapp, "light")
    assert all(ink(icon(name)) for name in icon_names())
    assert not [name for name in icon_names() if name.startswith("app")]
    with pytest.raises(KeyError, match="no icon called 'nonsense'"):
        icon("nonsense")


def test_switching_tells_everyone_and_dresses_the_application(qapp: QApplication) -> None:
    apply(qapp, "light")
    changed = QSignalSpy(theme().changed)
    theme().set_mode("dark")
    assert changed.count() == 1
    assert theme().is_dark
    assert qapp.palette().window().color().name() == DARK.background
    assert DARK.accent in qapp.styleSheet()
    assert "${" not in qapp.styleSheet()


def test_system_mode_follows_the_system(qapp: QApplication) -> None:
    apply(qapp, "system")
    for scheme, palette in ((Qt.ColorScheme.Dark, DARK), (Qt.ColorScheme.Light, LIGHT)):
        qapp.styleHints().colorSchemeChanged.emit(scheme)
        assert theme().palette is palette
    theme().set_mode("light")
    qapp.styleHints().colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert theme().palette is LIGHT


def test_high_contrast_is_worn_where_the_person_or_the_system_asks_for_it(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert apply(qapp, "dark", high_contrast=True).palette is DARK_HIGH
    theme().set_mode("light")
    assert theme().palette is LIGHT_HIGH
    assert apply(qapp, "light").palette is LIGHT
    monkeypatch.setattr(Theme, "_system_wants_contrast", lambda _theme: True)
    theme()._on_system_contrast_changed()
    assert theme().palette is LIGHT_HIGH
    apply(qapp, "system")
    qapp.styleHints().colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert theme().palette is DARK_HIGH


def test_the_images_in_the_style_sheet_exist_even_where_nothing_may_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("a file where a folder is wanted")
    for home in (tmp_path / "fresh", blocked):
        monkeypatch.setenv("XDG_CACHE_HOME", str(home))
        stylesheet._cache_folder.cache_clear()
        sheet = stylesheet.build(LIGHT, 1.0)
        files = {Path(part.split('"')[0]) for part in sheet.split('url("')[1:]}
        assert files
        assert all(file.read_text(encoding="utf-8").startswith("<svg") for file in files)
    stylesheet._cache_folder.cache_clear()


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_qt_understands_the_whole_style_sheet(qapp: QApplication, qtbot: QtBot, mode: Mode) -> None:
    apply(qapp, mode)  # what Qt does not understand it warns about, and a warning fails the test
    kinds = (QPushButton, QToolButton, QLineEdit, QSpinBox, QComboBox, QCheckBox, QRadioButton, QSlider, QProgressBar)
    views = (QTableWidget, QTreeWidget, QListWidget, QTabWidget, QPlainTextEdit, QScrollBar, QSplitter, QGroupBox)
    for kind in (*kinds, *views, QMenu, QMenuBar, QStatusBar, QMessageBox):
        widget = kind()
        qtbot.addWidget(widget)
        widget.resize(120, 60)
        assert not widget.grab().isNull()


def test_the_font_scale_reaches_application_and_style_sheet(qapp: QApplication) -> None:
    apply(qapp, "light", font_scale=1.5)
    assert qapp.font().pixelSize() == 20
    assert "font-size: 30px" in qapp.styleSheet()
    apply(qapp, "light")
    assert qapp.font().pixelSize() == 13


def test_a_wrong_input_is_marked_red(qapp: QApplication, qtbot: QtBot) -> None:
    apply(qapp, "light")
    field = QLineEdit()
    qtbot.addWidget(field)
    field.resize(120, 32)
    field.show()

    def edge() -> str:
        return field.grab().toImage().pixelColor(60, 0).name()

    set_invalid(field, True)
    assert edge() == LIGHT.danger
    set_invalid(field, False)
    assert edge() != LIGHT.danger


class StyleWithIcons(QProxyStyle):
    """What desktops ask for that put icons on the buttons of dialogs."""

    def styleHint(self, hint: QStyle.StyleHint, *others: Any) -> int:
        return 1 if hint == QStyle.StyleHint.SH_DialogButtonBox_ButtonsHaveIcons else super().styleHint(hint, *others)


def test_buttons_of_dialogs_have_no_stock_icons(qtbot: QtBot, qapp: QApplication) -> None:
    apply(qapp, "light")
    box = QDialogButtonBox()
    qtbot.addWidget(box)
    box.setStyle(style := StyleWithIcons("Fusion"))
    style.setParent(box)
    box.setStandardButtons(QDialogButtonBox.StandardButton.Save | QDialogButtonBox.StandardButton.Cancel)
    assert [button.icon().isNull() for button in box.buttons()] == [True, True]
