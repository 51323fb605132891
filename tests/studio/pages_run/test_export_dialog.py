"""The export dialog: what it knows of the engine's formats before it is filled in, what it proposes, and what is told at the end."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from studio.actions.export_choices import Answers
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
    qtbot.waitUntil(lambda: len(page.checkpoints.list.checkpoints) == 2)
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
    assert "100% of the answers alike" in heard[-1].text
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
    qtbot.waitUntil(lambda: len(page.checkpoints.list.checkpoints) == 2)
    qtbot.waitUntil(lambda: context.engine.info is not None)  # a fresh engine after the run
    page.show_tab("checkpoints")
    assert context.engine.info is not None
    assert context.engine.info.unwritable.keys() <= {"openvino"}
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


def test_what_is_chosen_about_the_answers_is_asked_of_the_engine(qtbot: QtBot, tmp_path: Path) -> None:
    answers = Answers(has_probabilities=True, threshold=0.5, dragged=(0.37,))
    dialog = ExportDialog("lab", 20, tmp_path, {}, answers=answers)
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.threshold.ways.setCurrentText("As on the tab Evaluate, 0.37")
    assert dialog.request(tmp_path).threshold == (0.37,)
    dialog.threshold.ways.setCurrentIndex(0)
    assert (dialog.request(tmp_path).threshold, dialog.request(tmp_path).temperature) == (None, None)
    dialog.threshold.ways.setCurrentIndex(1)
    dialog.temperature.ways.setCurrentIndex(1)
    assert (dialog.request(tmp_path).threshold, dialog.request(tmp_path).temperature) == ("auto", "auto")
    dialog.temperature.ways.setCurrentIndex(2)
    dialog.temperature.number.setText("0")
    assert not dialog.export.isEnabled()
    assert "Enter a number from 0.01 to 100." in [each.text() for each in dialog.temperature.findChildren(QLabel)]
    dialog.formats.setCurrentText("Python script")  # asks for none of it
    assert dialog.export.isEnabled()
    assert dialog.request(tmp_path).temperature is None
    dialog.formats.setCurrentText("ONNX")
    dialog.temperature.number.setText("1.5")
    dialog.int8.click()
    wanted = dialog.request(tmp_path)
    assert (wanted.to, wanted.temperature, wanted.quantize) == ("onnx", 1.5, "int8")
    assert wanted.out.name == "lab-step-20-onnx-int8"
    dialog.formats.setCurrentText("torch.export")
    assert dialog.request(tmp_path).quantize == ""


def test_only_models_that_answer_so_are_asked_about_it(qtbot: QtBot, tmp_path: Path) -> None:
    for answers in (Answers(has_probabilities=True), Answers(), Answers(has_probabilities=True, threshold=0.4)):
        dialog = ExportDialog("lab", 20, tmp_path, {}, answers=answers)
        qtbot.addWidget(dialog)
        for number, each in enumerate(FORMATS):
            dialog.formats.setCurrentIndex(number)
            is_model = each.suffix != ".py"
            assert dialog.temperature.isHidden() != (is_model and answers.has_probabilities)
            assert dialog.threshold.isHidden() != (is_model and answers.threshold is not None)
            assert dialog.int8.isHidden() == (each.suffix == ".py")
            assert dialog.int8.isEnabled() == (each.key in ("onnx", "openvino"))
            assert ("for ONNX and OpenVINO" in dialog.int8.text()) == (not dialog.int8.isEnabled())
