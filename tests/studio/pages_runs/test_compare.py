"""Runs compared: what is drawn, grouped and said of them, live and while they are deleted."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QItemSelection, QItemSelectionModel, QPointF, Qt
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from studio.pages.runs.compare.panel import ComparePanel
from studio.pages.runs.compare.text_table import TextTable
from studio.state.context import AppContext
from studio.state.runs.comparison import REPEATS
from tests.evaluations import make_evaluation
from tests.reports import make_report
from tests.studio.window_driver import open_window, runs_page
from training.config import RunConfig
from training.events import AttemptStarted, Completed, DataPrepared, Event, Validated
from training.runs.folder import RunFolder, create_run
from training.runs.records.history import EventLog
from training.runs.records.series import FLUSH_ROW, STEP_ROW, SeriesWriter

STEPS = 3_000
LEFT = Qt.MouseButton.LeftButton
MakeRun = Callable[..., RunFolder]


def write_steps(folder: RunFolder, first: int, last: int, level: float) -> None:
    rows = np.zeros(last - first + 1, STEP_ROW)
    rows["step"] = np.arange(first, last + 1)
    rows["loss"] = level + np.random.default_rng(first).normal(size=len(rows)) / 10
    rows["lr"], rows["grad_norm"] = 1e-3, 1.0
    writer = SeriesWriter(folder.series_file, STEP_ROW)
    writer.append(rows)
    writer.close()


@pytest.fixture
def make_run(workspace: Path, config: Callable[..., RunConfig]) -> MakeRun:
    """Makes a run that ended, with curves around a level."""

    def make(name: str, level: float = 1.0, steps: int = STEPS, **changes: object) -> RunFolder:
        made = create_run(workspace, config(name, **changes))
        write_steps(made, 1, steps, level)
        log = EventLog(made.events_file)
        events: list[Event] = [
            AttemptStarted(
                attempt=1, step=0, total_steps=STEPS, steps_per_epoch=100, epochs=30, device="cpu", time=0.0
            ),
            DataPrepared(report=make_report(samples={"train": 100})),
            Validated(step=steps, epoch=1, metrics={"val/loss": level}, improved=True),
            Completed(step=steps),
        ]
        for event in events:
            log.emit(event)
        log.close()
        looks = np.zeros(3, FLUSH_ROW)
        looks["time"], looks["step"], looks["samples_per_second"] = 1, [1_000, 2_000, 3_000], 10
        telemetry = SeriesWriter(made.telemetry_file, FLUSH_ROW)
        telemetry.append(looks)
        telemetry.close()
        made.write_status(
            made.status().model_copy(update={"status": "completed", "step": steps, "metrics": {"val/loss": level}})
        )
        return made

    return make


@pytest.fixture
def panel(qtbot: QtBot, context: AppContext) -> ComparePanel:
    made = ComparePanel(context)
    qtbot.addWidget(made)
    made.resize(1000, 700)
    made.show()
    return made


def show(qtbot: QtBot, panel: ComparePanel, folders: list[RunFolder]) -> None:
    panel.show_runs(folders)
    wait(qtbot, panel)


def wait(qtbot: QtBot, panel: ComparePanel) -> None:
    """Until all is read and drawn."""
    waiting = panel._later, panel.curves.charts.later
    qtbot.waitUntil(lambda: not panel.comparison.is_loading() and not any(timer.isActive() for timer in waiting))


def mean_line(panel: ComparePanel, key: str) -> np.ndarray:
    return panel.curves.plots["train/loss"]._curves[key].series.raw.y.copy()


def cells(table: TextTable) -> dict[str, list[object]]:
    return {title: list(values) for title, values in table.tabulate().items()}


def test_two_runs_side_by_side(qtbot: QtBot, panel: ComparePanel, make_run: MakeRun) -> None:
    assert panel.empty.isVisible()
    first, second = make_run("first", 1.0), make_run("second", 2.0, optimizer={"kind": "adamw", "lr": 0.5})
    show(qtbot, panel, [first, second])
    assert panel.curves.legend.names() == {first.id: "first", second.id: "second"}
    assert list(panel.curves.plots) == ["train/loss", "val/loss", "lr", "grad_norm"]
    values = panel.curves.plots["train/loss"].read_values(1_500)
    assert values[second.id][1] - values[first.id][1] == pytest.approx(1, abs=0.2)
    panel.curves.bar.axis._buttons["epoch"].setChecked(True)
    assert panel.curves.plots["train/loss"].read_values(99)[first.id][0] == 30
    panel.curves.bar.axis._buttons["time"].setChecked(True)
    assert panel.curves.plots["train/loss"].read_values(1e9)[first.id][0] == pytest.approx(300)
    assert panel.curves.plots["lr"].x_reading(300) == "training time (min) 5"
    panel.choice._buttons["settings"].setChecked(True)
    assert cells(panel.settings.table)["Setting"] == ["optimizer.lr"]
    assert cells(panel.settings.table)["second"] == ["0.5"]
    panel.choice._buttons["metrics"].setChecked(True)
    panel.metrics.pin(first.id)
    table = cells(panel.metrics.table)
    assert table["Run"] == ["first (baseline)", "second"]
    assert table["Validation loss"] == ["1", "2  (+1, +100.0%)"]
    for folder in (first, second):
        make_evaluation(folder.path, 60)
    rows = panel.metrics.table
    qtbot.mouseClick(rows.viewport(), LEFT, pos=rows.visualRect(rows.model().index(1, 0)).center())
    qtbot.waitUntil(lambda: "B is better by 3.0 points (1.0 to 5.0)" in panel.metrics.answer.text())
    assert panel.metrics.answer.text().startswith("Accuracy: ")
    assert panel.metrics.paired.text().startswith("A is first, B the selected run.")
    assert panel.metrics.answer.y() < panel.metrics.table.y()
    other = make_run("other", dataset={"kind": "moons"}, model={"kind": "mlp"})
    show(qtbot, panel, [first, second, other])
    panel.metrics.pin(first.id)
    assert "explain a difference: other (dataset.kind" in panel.metrics.paired.text()
    panel.choice._buttons["curves"].setChecked(True)
    panel.curves.choose_charts(["lr"])
    panel.curves.choose_charts(["lr", "train/loss", "val/loss", "grad_norm"])
    panel.show_runs([second])  # while charts are being made
    wait(qtbot, panel)
    assert [plot.curves() for plot in panel.curves.plots.values()] == 4 * [{second.id}]


def test_an_answer_about_an_earlier_pair_is_not_shown(
    qtbot: QtBot, panel: ComparePanel, make_run: MakeRun, context: AppContext
) -> None:
    """Evaluations are read in another thread, and other runs may be compared before that is done."""
    first, second = make_run("first", 1.0), make_run("second", 2.0)
    other = make_run("other", dataset={"kind": "moons"}, model={"kind": "mlp"})
    show(qtbot, panel, [first, second])
    panel.choice._buttons["metrics"].setChecked(True)
    disk_is_slow, heard = threading.Event(), list[object]()
    context.background.submit(lambda: disk_is_slow.wait(20), heard.append, heard.append)
    panel.metrics.pin(first.id)
    assert panel.metrics.answer.text().startswith("Looking for evaluations")
    show(qtbot, panel, [first, second, other])
    panel.metrics.pin(first.id)
    words = panel.metrics.answer.text(), panel.metrics.paired.text()
    disk_is_slow.set()
    context.background.submit(lambda: None, heard.append, heard.append)
    qtbot.waitUntil(lambda: len(heard) == 2)
    assert (panel.metrics.answer.text(), panel.metrics.paired.text()) == words
    assert words[0].startswith("Select a run")


def test_a_mean_is_of_all_its_runs_whichever_are_hidden(qtbot: QtBot, panel: ComparePanel, make_run: MakeRun) -> None:
    """Of W&B's issue 6672: hiding runs changed another group's mean."""
    folders = [
        make_run("a", level, steps, seed=seed)
        for seed, (level, steps) in enumerate([(1.0, STEPS), (2.0, STEPS), (6.0, 2_000)])
    ]
    other = make_run("b", 9.0, optimizer={"kind": "adamw", "lr": 0.5})
    show(qtbot, panel, [*folders, other])
    bar = panel.curves.bar
    bar.group.setCurrentIndex(bar.group.findData(REPEATS))
    (key,) = panel.curves._entry_groups()
    plot = panel.curves.plots["train/loss"]
    qtbot.waitUntil(lambda: len(plot._curves[key].series) > 0)
    before = mean_line(panel, key)
    assert before[:2_000].mean() == pytest.approx(3, abs=0.05)
    assert before[2_000:].mean() == pytest.approx(1.5, abs=0.05)
    edges = plot._curves[key].edges
    assert edges
    lower, upper = edges
    assert (upper.raw.y - lower.raw.y)[:2_000].mean() == pytest.approx(5, abs=0.2)
    for name in (folders[0].id, folders[1].id, other.id):
        panel.curves.legend.pressed.emit(name)
    assert plot.hidden_curves() == {folders[0].id, folders[1].id, other.id}
    panel.curves.rebuild()
    np.testing.assert_array_equal(mean_line(panel, key), before)
    assert key not in plot.hidden_curves()


def test_colors_stay_with_their_runs(qtbot: QtBot, panel: ComparePanel, make_run: MakeRun) -> None:
    runs = [make_run(name) for name in "abcd"]
    show(qtbot, panel, runs[:3])
    colors = {run: panel.comparison.color(run) for run in runs[:3]}
    show(qtbot, panel, [runs[3], runs[2], runs[0]])
    assert panel.comparison.color(runs[2]) == colors[runs[2]]
    assert panel.comparison.color(runs[0]) == colors[runs[0]]
    assert panel.comparison.color(runs[3]) not in (colors[runs[0]], colors[runs[2]])


def test_smoothing_is_of_all_samples_with_the_raw_line_behind_it(
    qtbot: QtBot, panel: ComparePanel, make_run: MakeRun
) -> None:
    first, second = make_run("first", 1.0), make_run("second", 2.0)
    show(qtbot, panel, [first, second])
    panel.curves.bar.smoothing.setValue(12)  # 0.99
    plot = panel.curves.plots["train/loss"]
    qtbot.waitUntil(lambda: all(curve.series.is_smoothed for curve in plot._curves.values()))
    alone = plot.read_values(2_000)[first.id]
    plot._on_moved_by_hand(1_900, 2_100)
    panel.curves.legend.pressed.emit(second.id)
    assert plot.read_values(2_000)[first.id] == alone
    raw = plot._curves[first.id].series.raw.y[:2_000]
    weights = 0.99 ** np.arange(1_999, -1, -1)
    assert alone[2] == pytest.approx(float((raw * weights).sum() / weights.sum()), rel=1e-9)
    assert not panel.curves.plots["val/loss"]._curves[first.id].series.is_smoothed


def test_a_run_that_goes_on_is_followed_and_one_that_is_deleted_goes(
    qtbot: QtBot, panel: ComparePanel, make_run: MakeRun
) -> None:
    going, gone, damaged = make_run("going", 1.0), make_run("gone", 2.0), make_run("damaged", 3.0)
    damaged.series_file.write_bytes(b"no series of ours" * 9)
    unreadable = make_run("unreadable", 4.0)
    unreadable.status_file.write_text("{")
    unreadable.config_file.write_text("kind = ")
    show(qtbot, panel, [going, gone, damaged, unreadable])
    assert "is not a series" in panel._problems.text()
    assert "left out, since it is damaged: status.json is damaged" in panel._problems.text()
    panel.comparison.runs[going].record = going.read_status().model_copy(update={"status": "running"})
    write_steps(going, STEPS + 1, STEPS + 500, 1.0)
    shutil.rmtree(gone.path)
    panel._look_again()
    wait(qtbot, panel)
    assert set(panel.curves.legend.names()) == {going.id}
    assert panel.curves.plots["train/loss"].read_values(1e9)[going.id][0] == STEPS + 500


def test_importance_warns_of_few_runs_and_saves_its_table(
    qtbot: QtBot, panel: ComparePanel, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    show(
        qtbot,
        panel,
        [make_run(f"run {at}", 1 / at, optimizer={"kind": "adamw", "lr": at / 100}, seed=at) for at in range(1, 7)],
    )
    panel.choice._buttons["shares"].setChecked(True)
    table = cells(panel.shares.table)
    assert table["Setting"] == ["optimizer.lr"]
    assert table["Share"] == ["100%"]
    assert table["Direction"] == ["-1.00 (larger is better)"]
    assert "chance" in panel.shares._note.text()
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "shares.csv"), ""))
    panel.shares.save.save_table()
    qtbot.waitUntil((tmp_path / "shares.csv").exists)
    assert (tmp_path / "shares.csv").read_text().startswith("Setting,Share")


def test_rows_chosen_in_the_table_are_compared_and_a_click_opens_one(
    qtbot: QtBot, context: AppContext, make_run: MakeRun
) -> None:
    folders = [make_run("first", 1.0), make_run("second", 3.0)]
    window = open_window(qtbot, context, "runs")
    page = runs_page(window)
    qtbot.waitUntil(lambda: page.model.rowCount() == 2)
    everything = QItemSelection(page.model.index(0, 0), page.model.index(1, 0))
    rows = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
    page.table.selectionModel().select(everything, rows)
    assert page.compare.isVisible()
    wait(qtbot, page.compare)
    plot = page.compare.curves.plots["train/loss"]
    window.grab()  # all is laid out
    plot.refresh()
    view = plot._canvas.view
    place = view.mapViewToScene(QPointF(1_500.0, plot.read_values(1_500)[folders[1].id][1]))
    qtbot.mouseClick(plot._canvas.viewport(), LEFT, pos=plot._canvas.mapFromScene(place))
    assert context.shown.run.folder == folders[1]
    assert window.rail.current() == "run"
