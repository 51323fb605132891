"""What studies have found, as it comes and at their end; and Adopt, which can be undone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from studio.pages.studies.finders.results.ablation_view import AblationView
from studio.pages.studies.finders.results.batch_view import BatchView
from studio.pages.studies.finders.results.range_view import RangeView
from studio.pages.studies.finders.results.speed_view import SpeedView
from studio.pages.studies.finders.results.spread_view import SpreadView
from studio.window.main_window import MainWindow
from tests.studio.pages_studies.conftest import make_result, make_study, show, studies_tab
from training.config import RunConfig
from training.studies.folder import StudyFolder
from training.studies.speed.measure import PAIRS
from training.studies.spread import describe_values, measure_values

MakeConfig = Callable[..., RunConfig]


def test_a_range_test_shows_its_curve_what_it_suggests_and_the_trials(
    qtbot: QtBot, window: MainWindow, workspace: Path, config: MakeConfig
) -> None:
    rates = [1e-6 * 10 ** (place / 10) for place in range(50)]
    details: dict[str, Any] = {
        "band": [1e-6, 0.1], "rates": rates, "losses": [2.0] * 50, "smoothed": [2.0 - 0.01 * place for place in range(50)],
        "valley": 0.002, "steepest": 0.004, "minimum": 0.001, "valleys": [0.001, 0.003], "drop": 0.4, "falls": [9.0, 8.0], "error": 0.01, "clear": True,
        "metric": "val/accuracy", "rate": 0.006,
        "trials": [
            {"rate": 0.002, "value": 0.81, "values": [0.8, 0.82], "run": "a"},
            {"rate": 0.006, "value": 0.91, "values": [0.9, 0.92], "run": "b"},
            {"rate": 0.02, "value": float("nan"), "values": [float("nan")], "run": "c"},
        ],
    }  # fmt: skip
    study = make_study(
        workspace, "lr-range", config(), result=make_result("lr-range", details=details, adopt={"optimizer.lr": 0.006})
    )
    tab = show(qtbot, window, study)
    view = tab.detail.view
    assert isinstance(view, RangeView)
    assert [mark.text for mark in view.chart.marks] == [
        "lowest ÷ 10 0.001",
        "valley 0.002",
        "steepest 0.004",
        "proposed 0.006",
    ]
    losses, trials = view.chart.panes
    assert [line.name for line in losses.lines] == ["Median", "Smoothed"]
    assert trials.title == "Validation accuracy of the trials"
    assert trials.lines[0].x.tolist() == [0.002, 0.002, 0.006, 0.006, 0.02]
    assert view.chart.grab().width() > 0  # one that diverged is drawn, too


def test_batch_sizes_come_as_they_are_measured(
    qtbot: QtBot, window: MainWindow, workspace: Path, config: MakeConfig
) -> None:
    study = make_study(workspace, "batch", config())
    study.write_part("memory-64", {"fits": True, "peak": 10**8, "limit": 10**9, "samples": 1000})
    tab = show(qtbot, window, study)
    view = tab.detail.view
    assert isinstance(view, BatchView)
    assert [pane.title for pane in view.chart.panes] == ["Memory at the peak"]
    study.write_part("memory-4096", {"fits": False, "peak": None, "limit": None, "samples": None})
    study.write_part("speed-32", {"rate": 900.0})
    study.write_part("speed-64", {"rate": 1000.0})
    study.write_part("noise", {"scale": 5000.0, "low": 1.0, "high": 9000.0, "steps": 60})
    study.write_result(make_result("batch", details={"knee": 64}))
    tab.detail.refresh()
    qtbot.waitUntil(lambda: len(view.chart.panes) == 2)
    assert view.chart.panes[0].lines[0].y.tolist() == [900.0, 1000.0]
    assert [mark.text for mark in view.chart.marks] == ["knee 64"]
    assert "Does not fit: 4,096." in view.said.text()
    assert "5,000 samples" in view.said.text()


def test_speed_factors_come_with_intervals_and_what_changes_results(
    qtbot: QtBot, window: MainWindow, workspace: Path, config: MakeConfig
) -> None:
    study = make_study(workspace, "speed", config(), {"only": ["loader.mode", "precision.compile"]})
    study.write_part("as-is", {"device": "cpu", "mode": "resident", "losses": [1.0], "seconds": 1.0})
    rates = [[[base + place] for place in range(PAIRS)] for base in (100.0, 200.0)]
    study.write_part(
        "loader-mode-streamed", {"rates": rates, "losses": [[1.0], [1.0]], "modes": ["a", "b"], "start": 1.0}
    )
    study.write_part("precision-compile-model", {"refused": "there is no C++ compiler."})
    study.write_part("fused", {"rates": rates, "losses": [[1.0], [1.0]], "modes": ["a", "b"], "start": 1.0})
    tab = show(qtbot, window, study)
    view = tab.detail.view
    assert isinstance(view, SpeedView)
    bar, fused = view.bars.bars
    assert fused.label == "Fused optimizer (in use)"
    assert bar.label == "Loading mode = Streaming"
    assert "kept" in bar.text
    assert "results change" not in bar.text
    assert "torch.compile = Model: there is no C++ compiler" in view.said.text()
    tried = {"setting": "precision.channels_last", "value": "on", "ratio": 1.5, "low": 1.2, "high": 1.8, "kept": True}
    details = {
        "tried": [{**tried, "changes_results": True, "losses_apart": 1e-6}],
        "refused": [],
        "never_run": ["precision.compute=tf32"],
        "fused": {"never_run": "muon has no fused form on this device (cpu)"},
        "ratio": 1.5,
        "low": 1.3,
        "high": 1.7,
    }
    study.write_result(make_result("speed", details=details))
    tab.detail.refresh()
    qtbot.waitUntil(lambda: view.bars.bars[-1].label == "All that is kept")
    assert view.bars.bars[0].text == "1.5× (1.2 to 1.8) · kept · results change"
    said = view.said.text()
    assert "Results change with Channels last = On." in said
    assert "Never run on this machine: Precision = TF32, fused optimizer (muon" in said


def test_seeds_folds_and_ablations_show_values_with_intervals(
    qtbot: QtBot, window: MainWindow, workspace: Path, config: MakeConfig
) -> None:
    values = {"val/loss": [0.5, 0.6], "val/accuracy": [0.9, 0.99]}
    chosen = config(checkpoints={"monitor": "val/accuracy"})
    seeds = make_study(
        workspace,
        "seeds",
        chosen,
        {"against": ["optimizer.lr=0.1"]},
        make_result("seeds", details={"values": values, "others": {"val/accuracy": [0.8, 0.82]}}),
    )
    view = show(qtbot, window, seeds).detail.view
    assert isinstance(view, SpreadView)
    assert [strip.label for strip in view.strips.strips] == ["As configured", "With Learning rate = 0.1"]
    assert view.strips.strips[0].high == 1.0  # no share is more
    folds = make_study(
        workspace,
        "cv",
        chosen,
        result=make_result(
            "cv",
            details={
                "metric": "accuracy",
                "values": {"accuracy": [0.8, 0.9, 0.85]},
                "out_of_fold": {"accuracy": {"value": 0.85, "low": 0.8, "high": 0.9}},
            },
        ),
    )
    view = show(qtbot, window, folds).detail.view
    assert isinstance(view, SpreadView)
    assert [strip.label for strip in view.strips.strips] == ["Folds", "All answers together"]
    assert view.strips.strips[1].text == "85.00% (80.00% to 90.00%)"
    told = {"path": "optimizer.weight_decay", "default": "0.01", "difference": 0.02, "better": True}
    ablation = make_study(
        workspace,
        "ablation",
        chosen,
        result=make_result(
            "ablation",
            details={"values": [0.9, 0.92], "settings": [{**told, "low": 0.01, "high": 0.03}]},
        ),
    )
    shown = show(qtbot, window, ablation).detail.view
    assert isinstance(shown, AblationView)
    assert shown.bars.bars[0].text == "+2 points (+1 to +3) · helps"


def test_details_that_somebody_changed_are_no_fault_of_the_window(
    qtbot: QtBot, window: MainWindow, workspace: Path, config: MakeConfig
) -> None:
    study = make_study(workspace, "speed", config(), result=make_result("speed", details={"tried": 3}))
    study.write_part("as-is", {"device": "cpu"})
    tab = show(qtbot, window, study)
    assert "cannot be shown" in tab.detail.problem.message[2]
    assert tab.detail.sentence.text() == "It is so."


@pytest.fixture
def proposing(window: MainWindow, workspace: Path) -> StudyFolder:
    """A study of what the draft is, which proposes a learning rate."""
    config = window.controller.context.draft.config()
    assert config is not None
    details = {
        "rates": [1e-3, 1e-2],
        "losses": [1.0, 1.0],
        "smoothed": [1.0, 1.0],
        "valleys": [],
        "falls": [],
        "clear": False,
    }
    nothing = dict.fromkeys(("valley", "steepest", "minimum", "drop", "error"))
    result = make_result("lr-range", details=details | nothing, adopt={"optimizer.lr": 0.01})
    return make_study(workspace, "lr-range", config, result=result)


def test_adopt_changes_the_draft_and_can_be_undone(qtbot: QtBot, window: MainWindow, proposing: StudyFolder) -> None:
    context = window.controller.context
    told: list[Any] = []
    context.notifier.notified.connect(told.append)
    card = show(qtbot, window, proposing).detail.adopt
    assert card.changes.text() == "Learning rate: 0.003 → 0.01"
    assert card.adopt.text() == "Adopt"
    card.adopt.click()
    assert context.draft.value("optimizer.lr") == 0.01
    assert not card.adopt.isEnabled()
    assert "already" in card.reason.text()
    assert card.adopt.text() == "Adopted"
    assert card.changes.text() == "Learning rate: 0.003 → 0.01"  # and not "0.01 → 0.01"
    assert told[-1].title == "Adopted in Setup"
    told[-1].action()
    assert context.draft.value("optimizer.lr") == 0.003
    assert card.adopt.isEnabled()
    context.draft.redo()
    assert context.draft.value("optimizer.lr") == 0.01


def test_what_differs_in_setup_is_said_and_it_can_be_adopted_all_the_same(
    qtbot: QtBot, window: MainWindow, proposing: StudyFolder
) -> None:
    context = window.controller.context
    context.draft.set("loop.epochs", 77)
    card = show(qtbot, window, proposing).detail.adopt
    assert card.adopt.text() == "Adopt anyway"
    assert "→ 77" in card.reason.text()
    context.draft.set("loop.epochs", "x")
    assert "are wrong now" in card.reason.text()
    card.adopt.click()
    assert context.draft.value("optimizer.lr") == 0.01


def test_nothing_proposed_is_nothing_to_adopt(
    qtbot: QtBot, window: MainWindow, workspace: Path, config: MakeConfig
) -> None:
    missing = make_study(
        workspace, "batch", config(), result=make_result("batch", adopt={"schedule.gamma": 0.1}, details={})
    )
    card = show(qtbot, window, missing).detail.adopt
    assert not card.adopt.isEnabled()
    assert "no such setting" in card.reason.text()
    nothing = make_study(workspace, "batch", config(), result=make_result("batch"))
    show(qtbot, window, nothing)
    assert not card.adopt.isEnabled()
    assert "Nothing is proposed" in card.reason.text()
    assert studies_tab(window).detail.adopt is card


def test_a_batch_size_that_is_the_best_already_is_told_so(qtbot: QtBot, window: MainWindow, workspace: Path) -> None:
    context = window.controller.context
    config = context.draft.config()
    assert config is not None
    size = config.loop.batch_size
    kept = make_study(workspace, "batch", config, result=make_result("batch", details={"knee": size}))
    card = show(qtbot, window, kept).detail.adopt
    assert not card.adopt.isEnabled()
    assert "study proposes" in card.reason.text()
    assert f"Batch size: {size}" in card.changes.text().splitlines()
    context.draft.set("loop.batch_size", 2 * size)
    assert f"Batch size: {2 * size} → {size}" in card.changes.text()
    assert card.adopt.isEnabled()


def test_equal_values_are_told_in_plain_words_and_no_share_passes_all(
    qtbot: QtBot, window: MainWindow, workspace: Path, config: MakeConfig
) -> None:
    chosen = config(checkpoints={"monitor": "val/accuracy"})
    values = {"val/accuracy": [1.0, 1.0, 1.0]}
    same = make_study(workspace, "seeds", chosen, result=make_result("seeds", details={"values": values}))
    view = show(qtbot, window, same).detail.view
    assert isinstance(view, SpreadView)
    assert view.strips.strips[0].text == "100.00% · the same in all 3"
    assert view.strips._find_range() == (0.99, 1.0)
    assert describe_values("val/loss", measure_values([0.0, 0.0])).endswith(", the same over 2 seeds")
    assert "as far as these digits tell" in describe_values("val/loss", measure_values([0.0, 1e-9]))
