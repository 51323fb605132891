"""The export dialog: what it knows of the engine's formats before it is filled in, what it proposes, and what is told at the end."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from studio.actions.export_dialog import FORMATS, ExportDialog
from studio.engine.state import RunState
from studio.services.notifier import Notification
from studio.state.context import AppContext
from tests.studio.pages_run.test_run_page import MakeConfig, click
from tests.studio.window_driver import open_window, run_page
from training.catalog.onnx_packages import no_onnx
from training.protocol.messages import Ready
from training.runs.records.manifest import write_labels


def answer_next_export(answer: Callable[[ExportDialog], object]) -> None:
    def look() -> None:
        dialog = QApplication.activeModalWidget()
        if isinstance(dialog, ExportDialog):
            answer(dialog)
        else:
            QTimer.singleShot(50, look)

    QTimer.singleShot(50, look)


def test_the_best_model_is_exported_and_the_proof_shown(
    qtbot: QtBot, context: AppContext, config: MakeConfig, tmp_path: Path
) -> None:
    window = open_window(qtbot, context)
    page = run_page(window)
    heard: list[Notification] = []
    context.notifier.notified.connect(heard.append)
    context.start_run(config())
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED)
    qtbot.waitUntil(lambda: len(page.checkpoints.model.checkpoints) == 2)
    folder = context.live.folder
    assert folder is not None
    proposed: list[Path] = []

    def answer(dialog: ExportDialog) -> None:
        proposed.append(dialog.out())
        dialog.place.set_path(str(tmp_path))
        dialog.formats.setCurrentText("ONNX")
        write_labels(folder, {"best": "step-00000020"})  # another is the best while it is asked where
        shutil.rmtree(folder.checkpoints / "step-00000040")
        page.checkpoints.refresh()
        qtbot.waitUntil(lambda: dialog.step == 20)  # and the dialog names that one
        assert "Export lab at step 20" in [each.text() for each in dialog.findChildren(QLabel)]
        dialog.export.click()

    answer_next_export(answer)
    page.show_tab("checkpoints")
    qtbot.waitUntil(lambda: page.checkpoints.export.text() == "Export best (step 40)")
    click(qtbot, page.checkpoints.export)
    qtbot.waitUntil(lambda: any(notice.tone == "success" for notice in heard))
    assert proposed == [folder.exports / "lab-step-40-safetensors"]
    assert heard[-1].text.startswith(f"Step 20: {tmp_path / 'lab-step-20-onnx'}")
    assert "Loaded again, it answers as the model does." in heard[-1].text
    assert not heard[-1].details  # the one file is named already
    assert [toast.title for toast in window.controller.toasts.toasts()] == ["Model exported"]  # "Exporting …" is past
    assert (tmp_path / "lab-step-20-onnx").exists()
    said = len(heard)

    def turn_away(dialog: ExportDialog) -> None:
        proposed.append(dialog.folder)
        dialog.reject()

    answer_next_export(turn_away)
    click(qtbot, page.checkpoints.export)
    assert proposed[1] == tmp_path  # the last one used
    assert len(heard) == said

    def want_script(dialog: ExportDialog) -> None:
        dialog.formats.setCurrentText("Python script")
        dialog.export.click()

    answer_next_export(want_script)
    click(qtbot, page.checkpoints.export)
    qtbot.waitUntil(lambda: heard[-1].title == "Script written")
    assert "same initial weights" in heard[-1].text


def test_a_format_that_the_engine_cannot_write_is_known_before_anything_is_filled_in(
    qtbot: QtBot, context: AppContext, config: MakeConfig
) -> None:
    page = run_page(open_window(qtbot, context))
    context.start_run(config())
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED)
    qtbot.waitUntil(lambda: len(page.checkpoints.model.checkpoints) == 2)
    qtbot.waitUntil(lambda: context.engine.info is not None)  # a fresh engine after the run
    page.show_tab("checkpoints")
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


def test_probabilities_can_be_calibrated_where_there_are_some(qtbot: QtBot, tmp_path: Path) -> None:
    for has_probabilities in (True, False):
        dialog = ExportDialog("lab", 20, tmp_path, {}, has_probabilities=has_probabilities)
        qtbot.addWidget(dialog)
        seen = {}
        for number, each in enumerate(FORMATS):
            dialog.formats.setCurrentIndex(number)
            seen[each.key] = not dialog.calibrate.isHidden()
        of_models = {key for key, is_seen in seen.items() if is_seen}
        assert of_models == ({"safetensors", "onnx", "torch-export"} if has_probabilities else set())
