"""What the export dialog knows of the engine's formats before it is filled in."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from studio.actions.export_dialog import ExportDialog
from studio.engine.state import RunState
from studio.state.context import AppContext
from tests.studio.pages_train.test_train_page import MakeConfig, answer_next_export, click
from tests.studio.window_driver import open_window, train_page
from training.catalog.onnx_packages import no_onnx
from training.protocol.messages import Ready


def test_a_format_that_the_engine_cannot_write_is_known_before_anything_is_filled_in(
    qtbot: QtBot, context: AppContext, config: MakeConfig
) -> None:
    page = train_page(open_window(qtbot, context))
    context.start_run(config())
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED)
    qtbot.waitUntil(lambda: len(page.checkpoints.model.checkpoints) == 2)
    qtbot.waitUntil(lambda: context.engine.info is not None)  # a fresh engine after the run
    assert context.engine.info is not None
    assert context.engine.info.unwritable == {}
    reason = no_onnx("has no onnxruntime")
    context.engine._pool.main.info = Ready(torch="2", devices=("cpu",), unwritable={"onnx": reason})
    seen: list[tuple[bool, str]] = []

    def look(dialog: ExportDialog) -> None:
        for title in ("ONNX", "torch.export"):
            dialog.formats.setCurrentText(title)
            seen.append((dialog.export.isEnabled(), dialog.said.text()))
        dialog.reject()

    answer_next_export(look)
    click(qtbot, page.checkpoints.export)
    qtbot.waitUntil(lambda: len(seen) == 2)
    assert seen[0] == (False, reason)
    assert seen[1][0]
    assert "--to" not in reason
    assert "pip" not in reason


@pytest.mark.parametrize(("data_bytes", "told"), [(0, ""), (3_000_000, "3 MB"), (3_000_000_000, "3 GB")])
def test_samples_beside_a_script_are_told_and_many_of_them_asked_for(
    data_bytes: int, told: str, qtbot: QtBot, tmp_path: Path
) -> None:
    dialog = ExportDialog("lab", 40, tmp_path, {}, data_bytes)
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.export.isEnabled()
    assert not dialog.large_data.isVisible()
    dialog.formats.setCurrentText("Python script")
    large = told.endswith("GB")
    assert dialog.large_data.isVisible() == large
    assert told in (dialog.large_data.text() if large else dialog.said.text())
    assert ("beside it" in dialog.said.text()) == bool(told)
    assert dialog.export.isEnabled() == (not large)
    dialog.large_data.click()
    assert dialog.export.isEnabled()
