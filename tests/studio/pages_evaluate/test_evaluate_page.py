"""The Evaluate page: choose samples anywhere, and everything follows."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from studio.pages.evaluate.details_dialog import DetailsDialog
from studio.pages.evaluate.views.classes_view import ClassesView
from studio.pages.evaluate.views.compare_view import CompareView
from studio.pages.evaluate.views.loss_view import LossView
from studio.state.context import AppContext
from studio.state.evaluations.sample_details import make_details
from tests.evaluations import make_classes, make_evaluation, write_evaluation
from tests.studio.keyboard_walk import wait_for_soundness
from tests.studio.pages_evaluate.page_driver import NAMES, MakeConfig, click_cell, confusion, open_page
from training.predictions import Baseline, Measured
from training.runs.folder import RunFolder, create_run


def test_a_cell_shows_its_samples_and_a_chip_takes_it_away(qtbot: QtBot, context: AppContext, run: RunFolder) -> None:
    page = open_page(qtbot, context)
    evaluation, view, losses = page.selection.evaluation, confusion(page), page.views["loss"]
    assert evaluation is not None
    assert isinstance(losses, LossView)
    target, prediction = evaluation.column("target"), evaluation.column("prediction")
    assert page.samples.table.rowCount() == 400
    click_cell(qtbot, view, 0, 2)
    wanted = np.flatnonzero((target == 0) & (prediction == 2))
    assert sorted(page.samples.table.rows.tolist()) == wanted.tolist()
    loss = evaluation.column("loss")[page.samples.table.rows]
    assert (np.diff(loss) <= 0).all()  # the worst first
    assert page.samples.accessibleName() == f"{len(wanted)} of 400 samples"
    assert int(view.counts.sum()) == 400  # a view does not narrow itself
    assert sum(losses.chart._part or ()) == len(wanted)
    chip = page.samples.bar.chips()[0]
    assert "“class 0” predicted as “class 2”" in chip.accessibleName()
    # A range of losses narrows it, and the matrix counts what has such a loss.
    losses.chart.chosen.emit((37, 39))
    assert set(page.samples.table.rows.tolist()) < set(wanted.tolist())
    assert int(view.counts.sum()) < 400
    assert int(view.counts[0, 2]) == len(page.samples.table.rows)
    qtbot.mouseClick(page.samples.bar.chips()[0], Qt.MouseButton.LeftButton)
    qtbot.mouseClick(page.samples.bar.chips()[0], Qt.MouseButton.LeftButton)
    assert page.samples.table.rowCount() == 400
    assert not page.samples.bar.chips()


def test_the_matrix_is_used_by_keyboard_and_by_dragging(qtbot: QtBot, context: AppContext, run: RunFolder) -> None:
    page = open_page(qtbot, context)
    view, rows = confusion(page), page.samples.table
    evaluation = page.selection.evaluation
    assert evaluation is not None
    target, prediction = evaluation.column("target"), evaluation.column("prediction")
    view.matrix.setFocus()
    qtbot.keyClick(view.matrix, Qt.Key.Key_Down)
    qtbot.keyClick(view.matrix, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)  # the row
    assert rows.rowCount() == int((target == 1).sum())
    qtbot.keyClick(view.matrix, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)  # the column
    assert rows.rowCount() == int((prediction == 0).sum())
    qtbot.keyClick(view.matrix, Qt.Key.Key_Escape)
    assert rows.rowCount() == 400
    square, cell = view.matrix._square(), view.matrix._cell()

    def center(row: int, column: int) -> QPoint:
        return QPointF(square.left() + (column + 0.5) * cell, square.top() + (row + 0.5) * cell).toPoint()

    qtbot.mousePress(view.matrix, Qt.MouseButton.LeftButton, pos=center(0, 1))
    qtbot.mouseMove(view.matrix, center(1, 2))
    qtbot.mouseRelease(view.matrix, Qt.MouseButton.LeftButton, pos=center(1, 2))
    assert rows.rowCount() == int(((target <= 1) & (prediction >= 1)).sum())
    beside = QPoint(4, center(2, 0).y())  # a name: its row
    qtbot.mouseClick(view.matrix, Qt.MouseButton.LeftButton, pos=beside)
    assert rows.rowCount() == int((target == 2).sum())


def test_the_slider_walks_through_the_steps_and_the_selection_stays(
    qtbot: QtBot, context: AppContext, run: RunFolder
) -> None:
    later = make_classes(400, 3, seed=0, skill=4.0)
    write_evaluation(run.path, later, NAMES, on="validation", step=200, epoch=2)
    page = open_page(qtbot, context)
    assert page.choice.step == 200
    click_cell(qtbot, confusion(page), 0, 2)
    before = set(page.samples.table.rows.tolist())
    page.header.slider.setValue(0)
    evaluation = page.selection.evaluation
    assert evaluation is not None
    assert evaluation.record.step == 100
    wanted = (evaluation.column("target") == 0) & (evaluation.column("prediction") == 2)
    assert set(page.samples.table.rows.tolist()) == set(np.flatnonzero(wanted).tolist()) != before
    assert page.header.step.currentData() == 100


def test_what_is_looked_at_stays_when_a_newer_step_comes(qtbot: QtBot, context: AppContext, run: RunFolder) -> None:
    page = open_page(qtbot, context)
    make_evaluation(run.path, step=200, on="validation")
    page.choice.refresh()
    qtbot.waitUntil(lambda: page.choice.steps == [200, 100])
    assert page.choice.step == 100
    shutil.rmtree(run.path / "evaluations" / "step-00000100-validation")
    page.choice.refresh()
    qtbot.waitUntil(lambda: page.choice.step == 200)


def test_what_a_run_kept_of_a_validation_gets_its_intervals_when_it_is_looked_at(
    qtbot: QtBot, context: AppContext, workspace: Path, config: MakeConfig
) -> None:
    run = create_run(workspace, config())
    make_evaluation(run.path, checkpoint="", metrics={"accuracy": Measured(value=0.5)})
    page = open_page(qtbot, context)
    assert page.metrics.state.text() == "Their intervals are being computed …"
    qtbot.waitUntil(lambda: page.metrics.state.isHidden())
    assert page.metrics.numbers["accuracy"]._delta.text() == "40.00% to 60.00%"


def test_a_model_that_does_not_beat_its_baseline_is_told_so(
    qtbot: QtBot, context: AppContext, workspace: Path, config: MakeConfig
) -> None:
    run = create_run(workspace, config())
    baseline = Baseline(name="majority class", value=0.9)
    metrics = {"accuracy": Measured(value=0.91, low=0.88, high=0.93, baseline=baseline)}
    make_evaluation(run.path, metrics=metrics)
    page = open_page(qtbot, context)
    number = page.metrics.numbers["accuracy"]
    assert number.value() == "91.00%"
    assert (
        number._delta.text()
        == "88.00% to 93.00%\nthese 200 samples do not show it to be better than majority class: 90.00%"
    )


def test_views_are_behind_tabs_in_a_narrow_window_and_beside_each_other_in_a_wide_one(
    qtbot: QtBot, context: AppContext, run: RunFolder
) -> None:
    page = open_page(qtbot, context)
    window, stage = page.window(), page.stage
    window.resize(900, 600)
    qtbot.waitUntil(lambda: not stage.tabs.isHidden())
    for title, made in list(stage.tabs.buttons.items()):
        made.click()
        shown = [view for view in page.views.values() if view.isVisible()]
        assert {view.tab for view in shown} == {title}
        assert page.metrics.isVisible() == (title == "Metrics")
        qtbot.waitUntil(lambda: stage.area.horizontalScrollBar().maximum() == 0)
    assert stage.tab == list(stage.tabs.buttons)[-1]
    window.resize(2560, 1440)
    qtbot.waitUntil(stage.tabs.isHidden)
    assert all(view.isVisible() for view in page.views.values())
    assert page.metrics.isVisible()
    assert len({view.x() for view in page.views.values()}) == 2


def test_samples_are_saved_as_a_table_and_as_a_list_of_files(
    qtbot: QtBot,
    context: AppContext,
    workspace: Path,
    config: MakeConfig,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = create_run(workspace, config())
    names = [f"a/{number}.png" for number in range(40)]
    write_evaluation(run.path, make_classes(40, 3), NAMES, names)
    page = open_page(qtbot, context)
    click_cell(qtbot, confusion(page), 1, 1)
    rows = page.samples.table.rows
    for suffix, save in (("txt", page.samples.list_actions.save_list), ("csv", page.samples.menu.save_table)):
        monkeypatch.setattr(
            QFileDialog, "getSaveFileName", lambda *_, suffix=suffix: (str(tmp_path / f"s.{suffix}"), "")
        )
        save()
        qtbot.waitUntil((tmp_path / f"s.{suffix}").exists)
    assert (tmp_path / "s.txt").read_text().splitlines() == [names[row] for row in rows]
    table = (tmp_path / "s.csv").read_text().splitlines()
    assert table[0] == "Sample,True,Predicted,Probability,Loss"
    assert len(table) == len(rows) + 1
    evaluation = page.selection.evaluation
    assert evaluation is not None
    assert float(table[1].split(",")[-1]) == float(evaluation.column("loss")[rows[0]])
    for suffix, head in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        monkeypatch.setattr(
            QFileDialog, "getSaveFileName", lambda *_, suffix=suffix: (str(tmp_path / f"c.{suffix}"), "")
        )
        confusion(page).menu.save_image(suffix)
        qtbot.waitUntil((tmp_path / f"c.{suffix}").exists)
        assert (tmp_path / f"c.{suffix}").read_bytes().startswith(head)


def test_what_is_not_there_is_said(qtbot: QtBot, context: AppContext, run: RunFolder) -> None:
    run.data_file.write_text('{"samples": {"train": 900, "validation": 400}}')
    page = open_page(qtbot, context)
    assert [page.header.data.itemText(at) for at in range(page.header.data.count())][:2] == [
        "Validation part",
        "Training part",
    ]
    assert page.header.data.findData("test") < 0
    page.choice.choose_data("test")
    assert page.state.isVisible()
    assert page.state.empty.accessibleName() == "Not evaluated. The checkpoint of step 100 is not there any more."
    assert page.selection.evaluation is None
    page.choice.choose_data("validation")
    (page.choice.epochs[0].folder / "target.npy").write_bytes(b"x")
    page.choice.choose_data("test")
    page.choice.choose_data("validation")
    assert "target.npy" in page.state.empty.accessibleName()


def test_classes_are_counted_among_what_is_selected_and_sorted(
    qtbot: QtBot, context: AppContext, run: RunFolder, tmp_path: Path
) -> None:
    page = open_page(qtbot, context)
    view = page.views["classes"]
    assert isinstance(view, ClassesView)
    losses = page.views["loss"]
    assert isinstance(losses, LossView)
    losses.chart.chosen.emit((0, 30))
    evaluation, rows = page.selection.evaluation, page.samples.table.rows
    assert evaluation is not None
    target, prediction = evaluation.column("target")[rows], evaluation.column("prediction")[rows]
    assert list(view.model.measured.support) == np.bincount(target, minlength=3).tolist()
    recall = view.model.measured.figures["recall"][1]
    assert recall.value == (prediction[target == 1] == 1).mean()
    assert recall.value is not None
    assert recall.low is not None
    assert recall.low < recall.value
    view.model.sort(1, Qt.SortOrder.DescendingOrder)
    assert view.model.rows == sorted(range(3), key=lambda row: -view.model.measured.support[row])
    view.choose_row(0)
    largest = view.model.rows[0]
    assert set(evaluation.column("target")[page.samples.table.rows].tolist()) == {largest}
    assert view.model.tabulate()["recall"][0] == view.model.measured.figures["recall"][largest].value


def test_two_evaluations_are_compared_and_who_is_right_where_is_chosen(
    qtbot: QtBot, context: AppContext, run: RunFolder, workspace: Path, config: MakeConfig
) -> None:
    other = create_run(workspace, config("second"))
    digests = [f"{number:032x}" for number in range(400)]
    write_evaluation(run.path, make_classes(400, 3), NAMES, digests=digests)
    columns = {name: values[::-1] for name, values in make_classes(400, 3, seed=0, skill=4.0).items()}
    columns["index"] = columns["index"][::-1]  # numbered otherwise: the same samples are found by their content
    better = write_evaluation(other.path, columns, NAMES, digests=digests[::-1], fingerprint="f" * 16)
    make_evaluation(other.path, samples=400, on="test")  # of other samples
    context.open_run(run.path, "evaluate")
    page = open_page(qtbot, context)
    view, shown = page.views["compare"], page.selection.evaluation
    assert isinstance(view, CompareView)
    assert shown is not None
    qtbot.waitUntil(view.picker.isEnabled)
    assert [view.picker.itemText(at) for at in range(view.picker.count())][1:] == ["second · Step 100"]
    view.picker.setCurrentIndex(1)
    view.picker.activated.emit(1)
    qtbot.waitUntil(lambda: "Accuracy: B is better by 3.0 points (1.0 to 5.0)" in view.sentences.text())
    assert view.tabulate()["comparison"] == ["B is better by 3.0 points (1.0 to 5.0)"]
    right = [each.column("prediction") == each.column("target") for each in (shown, better)]
    only_second = np.flatnonzero(~right[0] & right[1][::-1])
    assert view.only[False].text() == f"B right, A wrong: {len(only_second)}"
    qtbot.mouseClick(view.only[False], Qt.MouseButton.LeftButton)
    assert sorted(page.samples.table.rows.tolist()) == only_second.tolist()
    assert page.samples.bar.chips()[0].toolTip().startswith("B right, A wrong (B: second · Step 100)")
    click_cell(qtbot, confusion(page), 0, 2)
    assert view.only[False].text() == f"B right, A wrong: {len(page.samples.table.rows)}"
    view.picker.activated.emit(0)
    assert len(page.samples.bar.chips()) == 1


def test_a_row_and_a_text_are_read_whole(
    qtbot: QtBot, context: AppContext, run: RunFolder, workspace: Path, config: MakeConfig
) -> None:
    cells = pl.DataFrame({"size": np.arange(400.0), "color": ["red", None] * 200})
    cells.write_parquet(run.evaluations / "step-00000100-validation" / "rows.parquet")
    page = open_page(qtbot, context)
    evaluation = page.selection.evaluation
    assert evaluation is not None
    panel = page.samples
    row = int(panel.table.rows[0])
    panel.rows.selectRow(0)
    qtbot.keyClick(panel.rows, Qt.Key.Key_Return)
    dialog = panel.findChild(DetailsDialog)
    assert dialog is not None
    wait_for_soundness(qtbot, dialog)
    dialog.details.setFocus()

    def read(dialog: DetailsDialog) -> dict[str, str]:
        table = dialog.details
        items = [[table.item(at, column) for column in (0, 1)] for at in range(table.rowCount())]
        return {title.text(): words.text() for title, words in items if title is not None and words is not None}

    shown = read(dialog)
    assert shown["True"] == f"class {evaluation.column('target')[row]}"
    chances = [float(words.rstrip("%")) for title, words in shown.items() if title.startswith("Probability of")]
    assert len(chances) == 3
    assert sum(chances) == pytest.approx(100.0, abs=0.2)
    assert shown["size"] == f"{float(row)}"
    assert shown["color"] == ("red" if row % 2 == 0 else "(missing)")
    qtbot.keyClick(dialog.details, Qt.Key.Key_Right)
    assert dialog.place.text() == "2 of 400"
    assert read(dialog)["size"] == f"{float(panel.table.rows[1])}"
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    tokens: dict[str, NDArray[Any]] = {
        "index": np.arange(2),
        "loss": np.ones(2, np.float32),
        "target": np.array([[1, 2, 3], [3, 2, -100]], np.int32),
        "prediction": np.array([[1, 1, 3], [3, 3, 3]], np.int32),
        "token_loss": np.ones((2, 3), np.float16),
    }
    text = write_evaluation(
        create_run(workspace, config("text")).path, tokens, ("<unknown>", "a", "b", "c"), target="tokens"
    )
    assert dict(make_details(text)(1)) == {"Loss": "1", "True text": "cb", "Likeliest next tokens": "cc"}
