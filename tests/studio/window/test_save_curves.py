"""The curves of the run in view, saved as a table from the menu."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import polars as pl
import pytest
from PySide6.QtWidgets import QFileDialog, QMenu
from pytestqt.qtbot import QtBot

from studio.engine.state import RunState
from studio.panels.charts.chart_menu import ChartMenu
from studio.services.notifier import Notification
from studio.state.context import AppContext
from tests.studio.window_driver import open_window, run_page, runs_page
from training.config import RunConfig
from training.runs.records.series import read_series

MakeConfig = Callable[..., RunConfig]


def test_every_step_and_every_epoch_of_the_run_leave_the_window_as_tables(
    qtbot: QtBot, context: AppContext, config: MakeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window(qtbot, context)
    save = window.controller.actions.actions["save_curves"]
    told: list[Notification] = []
    context.notifier.notified.connect(told.append)
    save.trigger()
    assert told[-1].text.startswith("No run is in view")
    context.start_run(config())
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED)
    offered: list[str] = []

    def choose(name: str, form: str) -> None:
        def answer(_parent: object, _title: str, proposed: str, forms: str) -> tuple[str, str]:
            offered.append(proposed)
            return str(tmp_path / name), next(each for each in forms.split(";;") if form in each)

        monkeypatch.setattr(QFileDialog, "getSaveFileName", answer)

    choose("steps", "each step, as CSV")  # a name without a suffix gets the one that was chosen
    save.trigger()
    qtbot.waitUntil(lambda: bool(told) and told[-1].text == f"Saved as {tmp_path / 'steps.csv'}.")
    assert context.live.folder is not None
    rows, table = read_series(context.live.folder.series_file), pl.read_csv(tmp_path / "steps.csv")
    assert offered == [str(Path.home() / f"{context.live.folder.id}-curves.csv")]
    assert table["step"].to_list() == rows["step"].tolist()
    assert table["loss"].to_list() == rows["loss"].astype(float).tolist()
    plot = run_page(window).charts.curves.board.plots()[0]
    menu: QMenu = next(each for each in plot.children() if isinstance(each, ChartMenu)).make()
    choose("epochs.parquet", "each epoch, as Parquet")
    next(each for each in menu.actions() if each.text() == "Save curves as …").trigger()
    qtbot.waitUntil(lambda: told[-1].text == f"Saved as {tmp_path / 'epochs.parquet'}.")
    epochs = pl.read_parquet(tmp_path / "epochs.parquet")
    assert cast("list[int]", epochs["epoch"].to_list()) == [1, 2]
    first = context.live.folder
    context.start_run(config("other"))
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED and context.live.folder != first)
    window.show_page("runs")
    page = runs_page(window)
    qtbot.waitUntil(lambda: page.model.rowCount() == 2)
    assert first is not None
    page.choose(first.id)
    save.trigger()
    assert offered[-1] == str(Path.home() / f"{first.id}-curves.csv")  # of the run in view, not the one trained last
    choose("no/steps.csv", "each step, as CSV")
    save.trigger()
    qtbot.waitUntil(lambda: told[-1].title == "The curves were not saved")
    assert str(tmp_path / "no" / "steps.csv") in told[-1].text
