"""The tab System draws what was measured of the machine over the time worked on the run, also of a run that ended."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from pytestqt.qtbot import QtBot

from studio.pages.run.load_charts import LoadCharts
from studio.state.context import AppContext
from training.config import RunConfig
from training.events import AttemptStarted
from training.runs.folder import RunFolder, create_run
from training.runs.records.history import EventLog
from training.runs.records.series import FLUSH_ROW, SeriesWriter

DAY = 86_400.0


def begin(folder: RunFolder, moment: float) -> None:
    log = EventLog(folder.events_file)
    log.emit(AttemptStarted(time=moment, attempt=1, step=0, total_steps=9, steps_per_epoch=9, epochs=1, device="cpu"))
    log.close()


def look(folder: RunFolder, *moments: float) -> None:
    rows = np.zeros(len(moments), FLUSH_ROW)
    rows["time"], rows["cpu_share"], rows["memory_mb"] = moments, 0.5, 200.0
    rows["gpu_share"] = rows["written_mb"] = np.nan
    writer = SeriesWriter(folder.telemetry_file, FLUSH_ROW)
    writer.append(rows)
    writer.close()


def test_two_attempts_are_drawn_without_the_day_between_and_what_was_not_measured_is_left_out(
    qtbot: QtBot, context: AppContext, config: Callable[..., RunConfig]
) -> None:
    charts = LoadCharts(context.shown)
    qtbot.addWidget(charts)
    folder = create_run(context.workspace, config())
    context.shown.open(folder.path, beside=False)
    assert "recorded" in charts.words.text()
    begin(folder, 1_000.0)
    look(folder, 1_002.0, 1_004.0)
    context.shown.run.refresh()
    begin(folder, DAY)
    look(folder, DAY + 1.0, DAY + 3.0)
    context.shown.run.refresh()
    assert [title for title, plot in charts.plots.items() if not plot.isHidden()] == [
        "CPU, of all cores",
        "Memory of the engine (MB)",
    ]
    assert charts.words.text() == "x axis: time worked on the run (s)."
    raw = charts.plots["CPU, of all cores"]._curves["cpu_share"].series.raw
    assert raw.x.tolist() == [2.0, 4.0, 5.0, 7.0]
    folder.telemetry_file.unlink()
    look(folder, 1_002.0)  # the run went back
    context.shown.run.refresh()
    assert charts.plots["CPU, of all cores"]._curves["cpu_share"].series.raw.x.tolist() == [2.0]
