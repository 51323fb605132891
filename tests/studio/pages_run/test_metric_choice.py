"""The plot of a metric: the one that decides or the usual one first, any other by choice, and nothing of a stretch that was trained anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QComboBox
from pytestqt.qtbot import QtBot

from studio.panels.run_curves import RunCurves
from studio.services.app_settings import AppSettings
from studio.services.settings import SettingsStore
from training.config import parse_config
from training.events import Validated


@pytest.fixture
def curves(qtbot: QtBot, tmp_path: Path) -> RunCurves:
    made = RunCurves(SettingsStore(tmp_path / "settings.json", AppSettings()))
    qtbot.addWidget(made)
    made.resize(900, 500)
    with qtbot.waitExposed(made):
        made.show()
    made.clear()
    return made


def validate(curves: RunCurves, step: int, **metrics: float) -> None:
    named = {f"val/{name}": value for name, value in metrics.items()}
    curves.add_event(Validated(step=step, epoch=1, metrics=named, improved=False))


def drawn(curves: RunCurves, step: float) -> tuple[float, float] | None:
    """The drawn sample nearest to ``step``."""
    return curves.board.plot("metric")._curves["val/metric"].series.nearest(step)


def choice(curves: RunCurves) -> QComboBox:
    found = curves.board.plot("metric").findChild(QComboBox)
    assert isinstance(found, QComboBox)
    return found


def test_the_first_metric_is_shown_and_another_by_choice(curves: RunCurves) -> None:
    validate(curves, 10, loss=1.0, mean_iou=0.25, accuracy=0.5)
    validate(curves, 20, loss=0.5, mean_iou=0.75, accuracy=0.875)
    assert drawn(curves, 20) == (20, 0.75)
    assert choice(curves).isVisible()
    assert choice(curves).count() == 2
    assert choice(curves).itemText(1) == "Accuracy"
    choice(curves).setCurrentIndex(1)
    assert drawn(curves, 10) == (10, 0.5)
    validate(curves, 30, loss=0.25, mean_iou=0.8, accuracy=0.9375)
    assert drawn(curves, 30) == (30, 0.9375)


def test_the_metric_that_decides_is_shown_where_one_does(curves: RunCurves) -> None:
    for monitor, shown in (("val/f1", 0.75), ("val/loss", 0.5), ("auto", 0.5)):
        curves.clear()
        curves.show_config(parse_config({"checkpoints": {"monitor": monitor}}))
        validate(curves, 10, loss=1.0, accuracy=0.5, f1=0.75)
        assert drawn(curves, 10) == (10, shown)


def test_a_single_metric_is_the_title(curves: RunCurves) -> None:
    validate(curves, 10, loss=1.0, accuracy=0.5)
    assert not choice(curves).isVisible()
    assert curves.board.plot("metric").accessibleName() == "Curves: Accuracy"


def test_what_was_trained_anew_is_gone_from_every_metric(curves: RunCurves) -> None:
    for step in (10, 20, 30):
        validate(curves, step, loss=1.0, mean_iou=step / 100, accuracy=step / 50)
    curves.truncate(20)
    assert drawn(curves, 30) == (20, 0.2)
    choice(curves).setCurrentIndex(1)
    assert drawn(curves, 30) == (20, 0.4)
    curves.truncate(0)
    choice(curves).setCurrentIndex(0)
    assert drawn(curves, 30) is None


def test_another_run_begins_with_its_own_metrics(curves: RunCurves) -> None:
    validate(curves, 10, loss=1.0, mean_iou=0.25, accuracy=0.5)
    choice(curves).setCurrentIndex(1)
    curves.clear()
    validate(curves, 10, loss=1.0, mae=3.5)
    assert drawn(curves, 10) == (10, 3.5)
    assert not choice(curves).isVisible()
