"""What the Run page and a run's details say of gradient norms and of a GPU's memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from studio.engine.state import RunState
from studio.panels.run_curves import RunCurves
from studio.state.context import AppContext
from studio.widgets import SteadyLabel
from tests.studio.window_driver import open_window, run_page
from training.config import RunConfig
from training.events import AttemptStarted
from training.runs.folder import claim, create_run, release
from training.runs.records.history import EventLog
from training.runs.records.series import FLUSH_ROW

MakeConfig = Callable[..., RunConfig]


def clip_at(config: RunConfig, norm: float | None) -> RunConfig:
    return config.model_copy(update={"loop": config.loop.model_copy(update={"clip_norm": norm})})


@pytest.mark.parametrize(
    ("norm", "told"),
    [
        (0.5, "Clipped (norm > 0.5) in 100% of all 60 steps"),
        (1.0, "Clipped (norm > 1) in 0% of all 60 steps"),
        (None, ""),
    ],
)
def test_the_board_tells_the_share_of_clipped_steps_by_the_runs_own_limit(
    qtbot: QtBot, context: AppContext, config: MakeConfig, norm: float | None, told: str
) -> None:
    page = run_page(open_window(qtbot, context))
    context.start_run(clip_at(config(epochs=3), norm))
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED and not context.engine.training)

    def says(curves: RunCurves) -> bool:
        curves.board.refresh()
        words = curves.board.gradients.words
        return words.text() == told and words.isVisible() == bool(told)

    qtbot.waitUntil(lambda: says(page.charts.curves))


def test_the_strip_tells_three_figures_of_gpu_memory_and_why_there_is_no_gpu(
    qtbot: QtBot, context: AppContext, config: MakeConfig, workspace: Path
) -> None:
    page = run_page(open_window(qtbot, context))
    folder = create_run(workspace, config())
    claim(folder.path)
    log = EventLog(folder.events_file)
    begun = AttemptStarted(
        attempt=1, step=0, total_steps=9, steps_per_epoch=3, epochs=3, device="CPU", device_note="no GPU"
    )
    log.emit(begun)
    context.live.attach(folder.path)
    qtbot.waitUntil(lambda: page.system.load.device_row.toolTip() == "no GPU")
    row = np.zeros(1, FLUSH_ROW)
    row["gpu_allocated_mb"], row["gpu_memory_mb"], row["gpu_peak_mb"], row["gpu_share"] = 300, 512, 450, np.nan
    page.system.load.add_telemetry(row)
    shown = [each.text() for each in page.system.load.findChildren(SteadyLabel) if not each.isHidden()]
    assert "GPU 315 of 537 MB, peak 472 MB" in shown
    assert "315 MB allocated, 537 MB reserved, 472 MB peak" in page.system.load._gpu.toolTip()
    assert page.system.load.minimumSizeHint().width() <= 660  # what a window of 900 pixels has for it
    context.live.detach()
    assert page.system.load.device_row.toolTip() == ""
    log.close()
    release(folder.path)
