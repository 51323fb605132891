"""Norms of layers and parts of the loss on the Run page and beside a run: live, cut by a rewind, explained where there are none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pytestqt.qtbot import QtBot

from studio.charts.heat_bins import HeatBins
from studio.engine.state import RunState
from studio.pages.run.page import RunPage
from studio.panels.records.layers_card import LayersCard, _describe_growth
from studio.panels.records.parts_card import PartsCard
from studio.services.background import Background
from studio.state.context import AppContext
from tests.studio.window_driver import open_window, run_page
from tests.training.catalog.task_samples import small
from tests.training.engine.stopping import stopping_after
from tests.training.tiny import tiny
from training.config import RunConfig
from training.engine.runs.run import resume_run, start_run
from training.runs.folder import RunFolder
from training.runs.records.columns import ColumnsReader

NORMS = "loop.layer_norms_every_steps=2"
SUM = ("objective.loss=weighted_sum", "objective.mse_weight=0.5", "loop.max_steps=8", "loop.epochs=9", NORMS)


def run(workspace: Path, config: RunConfig) -> RunFolder:
    return RunFolder(Path(start_run(config, workspace).folder))


def shown_page(qtbot: QtBot, context: AppContext, folder: RunFolder) -> RunPage:
    page = run_page(open_window(qtbot, context))
    context.live.attach(folder.path)
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED)
    return page


def test_norms_and_parts_of_a_run_are_shown(qtbot: QtBot, context: AppContext, workspace: Path, tmp_path: Path) -> None:
    folder = run(workspace, small("regression", tmp_path, *SUM))
    page = shown_page(qtbot, context, folder)
    qtbot.waitUntil(lambda: page.charts.records.layers.map.isVisible() and page.charts.records.parts.plot is not None)
    assert page.charts.records.parts.isVisible()
    assert page.charts.records.layers.map.accessibleName() == "Heat map: gradient norm of 2 layers, steps 1 to 8"
    page.charts.records.layers.quantity.set_current("ratio")
    assert page.charts.records.layers.map.accessibleName().startswith("Heat map: update-to-weight ratio of 2 layers")
    page.charts.records.layers.quantity.set_current("dead")
    qtbot.waitUntil(
        lambda: page.charts.records.layers.map.accessibleName() == "Heat map: dead units of 1 layer, steps 1 to 8"
    )
    page.charts.records.layers.quantity.set_current("saturated")
    assert not page.charts.records.layers.map.isVisible()
    assert "no activation whose units can be saturated" in page.charts.records.layers._subtitle.text()


def test_parts_have_their_names_shares_and_values(
    qtbot: QtBot, context: AppContext, workspace: Path, tmp_path: Path
) -> None:
    folder = run(workspace, small("regression", tmp_path, *SUM))
    card = PartsCard(context)
    qtbot.addWidget(card)
    card.resize(600, 400)
    card.set_run(folder, growing=False)
    qtbot.waitUntil(lambda: card.plot is not None and len(card.plot._curves["l1"].series) == 8)
    assert card.plot is not None
    rows = ColumnsReader(folder.parts_file).read()[1]
    assert card.plot._curves["mse"].series.nearest(8) == pytest.approx((8, float(rows["values"][-1, 0])))
    qtbot.waitUntil(lambda: card.plot is not None and card.plot._canvas.pixels() > 100)  # laid out
    card.plot.refresh()
    assert card.plot._canvas.view.viewRange()[0] == [1.0, pytest.approx(8, abs=1)]  # no room for more steps
    card.set_run(run(workspace, tiny()), growing=False)  # a loss of one term
    qtbot.waitUntil(lambda: card.plot is None)
    assert not card.isVisible()


def test_rewound_run_shows_its_earlier_norms(qtbot: QtBot, background: Background, workspace: Path) -> None:
    config = tiny(NORMS, "loop.validate_every_steps=2", "checkpoints.keep_last=9")
    folder = run(workspace, config)
    card = LayersCard(background)
    qtbot.addWidget(card)
    card.set_run(folder, config, growing=False)
    qtbot.waitUntil(lambda: card._bins.last.tolist()[-1:] == [24])
    resume_run(str(folder.checkpoints / "step-00000008"), workspace, hooks=stopping_after(12))
    card.refresh()
    qtbot.waitUntil(lambda: card._bins.last.tolist()[-1:] != [24] and card._unit_bins.last.tolist()[-1:] != [24])
    assert card._bins.first.tolist()[:3] == [1, 2, 4]


@pytest.mark.parametrize(
    ("settings", "growing", "words"),
    [
        (["loop.layer_norms=false"], True, "loop.layer_norms"),
        (["precision.compile=step"], True, "precision.compile"),
        ([], False, "This run recorded no norms of its layers."),
    ],
)
def test_where_there_are_none_it_is_said_why(
    qtbot: QtBot, background: Background, tmp_path: Path, settings: list[str], growing: bool, words: str
) -> None:
    card = LayersCard(background)
    qtbot.addWidget(card)
    card.set_run(RunFolder(tmp_path), tiny(*settings), growing)
    assert card.isVisible()
    assert card._subtitle.text() == "Reading what the run recorded …"
    qtbot.waitUntil(lambda: words in card._subtitle.text())
    assert not card.map.isVisibleTo(card)


def test_card_comes_with_the_first_norms(qtbot: QtBot, background: Background, tmp_path: Path) -> None:
    card = LayersCard(background)
    qtbot.addWidget(card)
    card.set_run(RunFolder(tmp_path), tiny(), growing=True)
    assert not card.isVisible()


@pytest.mark.parametrize(
    ("last", "words"),
    [
        ((0.5, 8.0), "grew to 4.25 times its size in the median layer; it changed most in layer b, where it grew to 8 times its size."),
        ((0.004, 0.5), "shrank to 0.252 of its size in the median layer; it changed most in layer a, where it shrank to 0.004 of its size."),
        ((1.0, 1.0), "stayed as it was in the median layer; it changed most in layer a, where it stayed as it was."),
    ],
)  # fmt: skip
def test_what_became_of_the_norms_is_said_as_it_is(last: tuple[float, float], words: str) -> None:
    bins = HeatBins(2)
    bins.add(np.array([1, 50]), np.array([[1.0, 1.0], last], dtype=np.float32))
    said = _describe_growth("gradient norm", ("a", "b"), bins, bins.values)
    assert said.startswith("From step 1 to step 50 the gradient norm ")
    assert said.removeprefix("From step 1 to step 50 the gradient norm ") == words
