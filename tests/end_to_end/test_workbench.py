"""A newcomer's way over the workbench, every press of the mouse counted: three runs, tagged, filtered, compared with a pinned baseline, the
model of the best exported, its proof repeated, its card read and its report saved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication, QFileDialog, QInputDialog
from pytestqt.qtbot import QtBot

from studio.actions.export_dialog import FORMATS, ExportDialog
from studio.engine.state import RunState
from studio.pages.models.card_dialog import CardDialog
from studio.pages.models.page import ModelsPage
from studio.services.notifier import Notification
from studio.state.context import AppContext
from tests.end_to_end.mouse import PATIENCE, Mouse
from tests.end_to_end.steps import ended
from tests.studio.window_driver import open_window, run_page, runs_page
from training.config import RunConfig
from training.runs.folder import RunFolder
from training.runs.records.about import read_about
from training.runs.records.exports import read_exports

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_from_three_runs_to_the_best_of_them_exported_and_reported(
    qtbot: QtBot,
    make_context: Callable[..., AppContext],
    tiny: Callable[..., RunConfig],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    """For each run: Setup and Start training (the first begins on Setup). Then Runs; Tag …; its answer; Metrics; the baseline (opened
    and chosen); a run; Open; Checkpoints; Export; the format (opened and chosen); its answer. Then Models; Verify again; Model card; Close; the
    menu, Save report as … and its answer."""
    context, mouse = make_context(), Mouse(qtbot)
    window = open_window(qtbot, context, "setup")
    context.draft.set_config(tiny())
    folders: list[RunFolder] = []
    for seed in range(3):
        if seed:
            mouse.visit(window, "setup")
        context.draft.set("seed", seed)  # typed
        mouse.press(window, "Start training")
        qtbot.waitUntil(lambda: context.live.folder not in (None, *folders), timeout=PATIENCE)
        folders.append(ended(qtbot, context, RunState.COMPLETED))

    mouse.visit(window, "runs")
    page = runs_page(window)
    qtbot.waitUntil(lambda: len(page.model.runs_shown()) == 3, timeout=PATIENCE)
    page.table.setFocus()
    qtbot.keyClick(page.table, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    monkeypatch.setattr(QInputDialog, "getText", lambda *_: ("mine, tiny", True))
    mouse.press(page.organizer, "Tag")
    mouse.clicks += 1  # the answer
    qtbot.waitUntil(lambda: all(read_about(each).tags == ("mine", "tiny") for each in folders), timeout=PATIENCE)
    qtbot.keyClicks(page.filter.line, '"mine" in tags and seed < 2')
    qtbot.waitUntil(lambda: {run.folder for run in page.model.runs_shown()} == set(folders[:2]), timeout=PATIENCE)

    page.table.setFocus()
    qtbot.keyClick(page.table, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: set(page.compare.comparison.folders) == set(folders[:2]), timeout=PATIENCE)
    qtbot.waitUntil(lambda: not page.compare.comparison.is_loading(), timeout=PATIENCE)
    mouse.click(page.compare.choice._buttons["metrics"])
    metrics = page.compare.metrics
    qtbot.waitUntil(lambda: metrics.baseline.findData(folders[0].id) > 0, timeout=PATIENCE)
    mouse.choose(metrics.baseline, metrics.baseline.findData(folders[0].id))
    assert sum("(baseline)" in str(name) for name in metrics.table.tabulate()["Run"]) == 1

    page.choose(folders[1].id)
    mouse.clicks += 1  # in the table
    mouse.press(page.organizer, "Open")
    qtbot.waitUntil(lambda: context.shown.run.folder == folders[1], timeout=PATIENCE)
    checkpoints = run_page(window).checkpoints
    run_page(window).show_tab("checkpoints")
    mouse.clicks += 1  # its tab
    _choose_format(mouse, "onnx")
    mouse.press(checkpoints, "Export")
    qtbot.waitUntil(lambda: bool(read_exports(folders[1])), timeout=5 * PATIENCE)

    (note,) = read_exports(folders[1])
    assert note.exists
    assert note.proof is not None
    assert note.proof.samples > 0
    assert note.proof.agreement == 1.0

    mouse.visit(window, "models")
    models = window.page("models")
    assert isinstance(models, ModelsPage)
    qtbot.waitUntil(lambda: [each.state for each in models.exports.found] == ["present"], timeout=PATIENCE)
    mouse.press(models.detail, "Verify again")
    qtbot.waitUntil(lambda: models.detail.result.text().startswith("Verified now."), timeout=5 * PATIENCE)
    mouse.press(models.detail, "Model card")
    dialog = models.detail.findChild(CardDialog)
    assert dialog is not None
    card = dialog.text.toPlainText()
    mouse.press(dialog, "Close")
    page_file = tmp_path / "report.html"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(page_file), ""))
    said: list[Notification] = []
    context.notifier.notified.connect(said.append)
    window.controller.actions.actions["save_report"].trigger()
    mouse.clicks += 3  # the menu, its line, the answer
    qtbot.waitUntil(lambda: any(each.text == f"Saved as {page_file}." for each in said), timeout=5 * PATIENCE)
    for text in (card, page_file.read_text(encoding="utf-8")):
        assert "100% of the answers alike" in text
        assert note.sha256 in text

    record_property("clicks", mouse.clicks)  # a figure of the report
    assert mouse.clicks == 25


def _choose_format(mouse: Mouse, key: str) -> None:
    """In the next dialog of an export; then it is carried out."""

    def answer() -> None:
        dialog = QApplication.activeModalWidget()
        if not isinstance(dialog, ExportDialog):
            QTimer.singleShot(50, answer)
            return
        mouse.choose(dialog.formats, next(at for at, each in enumerate(FORMATS) if each.key == key))
        mouse.press(dialog, "Export")

    QTimer.singleShot(50, answer)
