"""What the export dialog knows of the engine's formats before it is filled in."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from studio.actions.export_dialog import ExportDialog
from studio.engine.messages import info_from
from studio.engine.state import RunState
from studio.state.context import AppContext
from tests.studio.pages_train.test_train_page import MakeConfig, answer_next_export, click
from tests.studio.window_driver import open_window, train_page
from training.catalog.onnx_packages import no_onnx


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
    context.engine._pool.main.info = info_from({"torch": "2", "devices": ["cpu"], "unwritable": {"onnx": reason}})
    seen: list[tuple[bool, str]] = []

    def look(dialog: ExportDialog) -> None:
        for title in ("ONNX", "torch.export"):
            dialog.formats.setCurrentText(title)
            seen.append((dialog.export.isEnabled(), dialog.said.text()))
        dialog.reject()

    answer_next_export(look)
    click(qtbot, page.header.export)
    qtbot.waitUntil(lambda: len(seen) == 2)
    assert seen[0] == (False, reason)
    assert seen[1][0]
    assert "--to" not in reason
    assert "pip" not in reason
