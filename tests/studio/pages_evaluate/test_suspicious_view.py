"""Suspicious labels: looked at, ticked, put on an exclude list and taken off again, and left out by a branch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from studio.engine.state import RunState
from studio.pages.evaluate.page import EvaluatePage
from studio.pages.evaluate.views.suspicious_view import SuspiciousView
from studio.services.notifier import Notification
from studio.state.context import AppContext
from studio.state.evaluations.excluding import would_leave_out_more
from tests.evaluations import make_classes, write_evaluation
from tests.studio.pages_evaluate.page_driver import NAMES, open_page
from tests.studio.window_driver import answer_next_question
from tests.training.tiny import write_idx
from training.config import RunConfig
from training.exclude_list import keep_exclude_list, read_exclude_list
from training.predictions.suspicious import SuspiciousLabel, SuspiciousLabels, write_found
from training.runs.folder import create_run

MakeConfig = Callable[..., RunConfig]
SAMPLES = 300
DIGESTS = [f"{number:032x}" for number in range(SAMPLES)]


def write_flipped(run: Path, on: str = "validation", step: int = 100) -> set[int]:
    """An evaluation of a good classifier, ten of whose labels are wrong; returns those."""
    columns = make_classes(SAMPLES, 3, skill=9.0)
    flipped = np.random.default_rng(5).choice(SAMPLES, 10, replace=False)
    columns["target"][flipped] = (columns["target"][flipped] + 1) % 3
    columns["target_score"] = columns["scores"][np.arange(SAMPLES), columns["target"]]
    name = f"step-{step:08d}"
    write_evaluation(run, columns, NAMES, digests=DIGESTS, on=on, step=step, checkpoint=name, layout="vector")
    return set(flipped.tolist())


def suspicious(page: EvaluatePage) -> SuspiciousView:
    view = page.views["suspicious"]
    assert isinstance(view, SuspiciousView)
    return view


@pytest.mark.slow
def test_ticked_labels_go_on_a_list_that_a_branch_leaves_out(
    qtbot: QtBot, context: AppContext, workspace: Path, config: MakeConfig, tmp_path: Path
) -> None:
    dataset = {"kind": "idx", "path": str(write_idx(tmp_path / "data"))}
    context.start_run(config("first", epochs=1, dataset=dataset))
    qtbot.waitUntil(lambda: context.live.state is RunState.COMPLETED)
    assert context.live.folder is not None
    flipped = write_flipped(context.live.folder.path, step=20)
    said: list[Notification] = []
    context.notifier.notified.connect(said.append)
    page = open_page(qtbot, context)
    view = suspicious(page)
    qtbot.waitUntil(lambda: view.found is not None)
    shown = [each.number for each in view.table.labels.labels]
    assert set(shown[:8]) <= flipped
    assert len(shown) <= 12
    # A row chooses its sample, and everything follows; what others chose narrows the list.
    qtbot.keyClick(view.table, Qt.Key.Key_Down)
    qtbot.keyClick(view.table, Qt.Key.Key_Return)
    assert len(page.samples.table.rows) == 1
    qtbot.mouseClick(view.show_all, Qt.MouseButton.LeftButton)
    assert set(page.samples.table.rows.tolist()) == set(shown)
    page.selection.clear()
    # Ticks, by the keyboard and by the box.
    assert not view.exclude.isEnabled()
    view.table.selectRow(0)
    qtbot.keyClick(view.table, Qt.Key.Key_Space)
    index = view.table.labels.index(1, 0)
    view.table.labels.setData(index, Qt.CheckState.Checked, Qt.ItemDataRole.CheckStateRole)
    assert view.exclude.text() == "Put 2 on exclude list …"
    asked = answer_next_question(qtbot, "Put it there")
    qtbot.mouseClick(view.exclude, Qt.MouseButton.LeftButton)
    assert asked == ["Where should the exclude list be?"]
    path = workspace / "first-exclude.txt"
    assert set(read_exclude_list(path)) == {DIGESTS[number] for number in shown[:2]}
    assert said[-1].text.startswith("2 samples put on the exclude list")
    assert not view.table.labels.ticks
    assert view.table.labels.listed == set(shown[:2])
    cell = view.table.labels.index(0, 0)
    assert str(cell.data()).endswith(" · on the exclude list")
    assert not cell.flags() & Qt.ItemFlag.ItemIsUserCheckable
    # The selected samples, too; it is not asked again, and there is a way back.
    view.choose_all()
    page.samples.list_actions.exclude()
    assert len(read_exclude_list(path)) == len(shown)
    assert said[-1].text.startswith(f"{len(shown) - 2} samples put on the exclude list")
    assert said[-1].action is not None
    said[-1].action()
    assert set(read_exclude_list(path)) == {DIGESTS[number] for number in shown[:2]}
    page.selection.clear()
    page.samples.list_actions.exclude()
    assert said[-1].text.startswith("Select samples first")
    assert view.branch.isVisibleTo(view)
    first = context.live.folder
    view.grab()  # laid out
    qtbot.mouseClick(view.start_over, Qt.MouseButton.LeftButton)  # and it trains
    qtbot.waitUntil(lambda: context.live.folder != first and context.live.state is RunState.COMPLETED)
    started = context.live.folder
    assert started is not None
    assert (started.config().name, started.status().parent) == ("first cleaned", None)
    assert getattr(started.config().dataset, "exclude", None) == str(path)
    assert would_leave_out_more(started)
    keep_exclude_list(str(path), started.exclude_file)  # as the engine does
    assert not would_leave_out_more(started)  # so that neither way is offered there
    context.open_run(first.path, "evaluate")
    qtbot.waitUntil(lambda: page.selection.evaluation is not None and suspicious(page).found is not None)
    qtbot.mouseClick(suspicious(page).branch, Qt.MouseButton.LeftButton)
    assert context.branch is not None
    assert context.branch.checkpoint.step == 20
    assert context.draft.value("dataset.exclude") == str(path)
    assert "Start branch" in {each.text() for each in page.window().findChildren(QPushButton)}


def test_the_training_part_is_never_judged_by_the_model_itself(
    qtbot: QtBot, context: AppContext, workspace: Path, config: MakeConfig
) -> None:
    run = create_run(workspace, config("first"))
    write_flipped(run.path, on="train")
    context.open_run(run.path, "evaluate")
    context.evaluation.choose_run(run)
    context.evaluation.choose_data("train")
    page = open_page(qtbot, context)
    view = suspicious(page)
    qtbot.waitUntil(lambda: "This model has trained on these samples" in view.words.text())
    assert not view.table.isVisibleTo(view)
    asked = answer_next_question(qtbot, "Start")
    qtbot.mouseClick(view.folds.examine, Qt.MouseButton.LeftButton)
    assert asked == ["Examine the training part?"]
    assert context.labels.is_busy
    assert view.folds.stop.isVisibleTo(view)
    qtbot.waitUntil(lambda: not context.labels.is_busy)  # there is no checkpoint in this run
    assert "has no checkpoint yet" in view.folds.words.text()
    assert view.folds.examine.isVisibleTo(view)
    # What other runs found is shown, of these very samples.
    labels = tuple(SuspiciousLabel(number=n, name=f"{n}", given="a", suggested="b", score=0.5) for n in (7, 3, 9999))
    found = SuspiciousLabels(on="train", fingerprint="0123456789abcdef", samples=SAMPLES, folds=5, found=labels)
    write_found(run, found.model_copy(update={"fingerprint": "of other data"}))
    context.labels.finished.emit()
    assert "are suspicious to 5 runs" not in view.folds.words.text()
    assert view.folds.examine.isVisibleTo(view)
    write_found(run, found)
    context.labels.finished.emit()
    qtbot.waitUntil(lambda: view.table.isVisibleTo(view))
    assert [each.number for each in view.table.labels.labels] == [7, 3]
    assert "to 5 runs that did not train on them" in view.words.text()
    view.choose_all()
    assert sorted(page.samples.table.rows.tolist()) == [3, 7]
