"""A sample of the preview, large: its pixels are sharp, its file is at hand, the arrow keys go on."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from pytestqt.qtbot import QtBot

from studio.pages.setup.page import SetupPage
from studio.pages.setup.samples.sample_dialog import SampleDialog
from studio.pages.setup.samples.samples_card import SamplesCard
from studio.panels.samples import enlarged_sample
from tests.studio.pages_setup.fakes import FakeContext, report


def sample(label: str, index: int, name: str, pixels: bytes, place: int = 0) -> dict[str, object]:
    coded = b64encode(pixels).decode()
    return {
        "label": label, "index": index, "width": 2, "height": 2, "channels": 3,
        "pixels_base64": coded, "original_base64": coded, "name": name, "place": place,
    }  # fmt: skip


def open_sample(qtbot: QtBot, page: SetupPage, row: int) -> SampleDialog:
    preview = page.findChild(SamplesCard)
    assert preview is not None
    qtbot.waitUntil(lambda: preview.grid.isVisible() and preview.grid.model().rowCount() == 2)
    page.grab()  # laid out
    cell = preview.grid.visualRect(preview.grid.model().index(row, 0)).center()
    qtbot.mouseClick(preview.grid.viewport(), Qt.MouseButton.LeftButton, pos=cell)
    dialog = preview.findChild(SampleDialog)
    assert dialog is not None
    with qtbot.waitActive(dialog):
        dialog.activateWindow()
    return dialog


def test_a_click_shows_a_sample_large_and_the_arrow_keys_go_on(
    qtbot: QtBot, page: SetupPage, context: FakeContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cat").mkdir()
    file = tmp_path / "cat" / "one.png"
    file.write_bytes(b"x")
    asked = len(context.engine.inspections)
    context.draft.set_kind("dataset", "image_folder")
    context.draft.set("dataset.path", str(tmp_path))
    qtbot.waitUntil(lambda: len(context.engine.inspections) > asked)
    assert page.previews.dataset.place == str(tmp_path)
    red, blue = b"\xff\x00\x00", b"\x00\x00\xff"
    samples = [
        sample("cat", 7, "cat/one.png", red + blue + blue + red),
        sample("dog", 9, "sample 9", blue * 4, 1),
    ]
    context.engine.inspections[-1].done(report(first_page={"total": 2, "samples": samples}))
    dialog = open_sample(qtbot, page, 0)
    assert (dialog.title.text(), dialog.place.text()) == ("cat", "1 of 2")
    assert "one.png" in dialog.detail.text()
    assert str(file) in dialog.detail.text()
    shown = dialog.view.grab().toImage()
    across = {shown.pixelColor(x, shown.height() // 4).name() for x in range(shown.width())}
    assert {"#ff0000", "#0000ff"} <= across  # squares of the two colors, and nothing mixed of them
    assert not [name for name in across if QColor(name).red() not in (0, 255) and QColor(name).green() == 0]
    revealed: list[Path] = []
    monkeypatch.setattr(enlarged_sample, "reveal", revealed.append)
    qtbot.mouseClick(dialog.show_file, Qt.MouseButton.LeftButton)
    assert revealed == [file]
    qtbot.keyClick(dialog, Qt.Key.Key_Right)
    assert (dialog.title.text(), dialog.place.text()) == ("dog", "2 of 2")
    assert dialog.open_file.isHidden()  # it is part of a larger file, or made
    qtbot.keyClick(dialog, Qt.Key.Key_Right)
    assert dialog.title.text() == "cat"
    qtbot.keyClick(dialog, Qt.Key.Key_Left)
    assert dialog.title.text() == "dog"
    dialog.accept()
