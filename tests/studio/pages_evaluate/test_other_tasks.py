"""Masks, ranked lists, texts and embeddings on the Evaluate page."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, Qt, QUrl
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from studio.pages.evaluate.page import EvaluatePage
from studio.pages.evaluate.sample_dialog import SampleDialog
from studio.pages.evaluate.views.classes_view import ClassesView
from studio.pages.evaluate.views.figures_view import FiguresView
from studio.pages.evaluate.views.neighbors_view import NeighborsView
from studio.pages.evaluate.views.ranking_view import RankingView
from studio.pages.evaluate.views.tokens_view import TokensView
from studio.panels.samples.images import class_color
from studio.state.context import AppContext
from studio.state.evaluations.neighbors import measure_misplacement
from studio.state.evaluations.per_class import find_class, measure_classes
from studio.state.evaluations.sample_order import orders_of, sort_samples
from studio.theme import theme
from studio.widgets.thumbnails import fit_image
from tests.evaluations import write_evaluation
from tests.studio.keyboard_walk import wait_for_soundness
from tests.studio.pages_evaluate.page_driver import open_page
from training.config import RunConfig
from training.runs.folder import create_run
from training.system.token_text import UNKNOWN

ShowPage = Callable[..., EvaluatePage]


@pytest.fixture
def show_page(qtbot: QtBot, context: AppContext, workspace: Path, config: Callable[..., RunConfig]) -> ShowPage:
    """The page with an evaluation of such columns."""

    def show(columns: dict[str, Any], names: tuple[str, ...], **given: Any) -> EvaluatePage:
        run = create_run(workspace, config("first"))
        count = len(columns["target"])
        known: dict[str, Any] = {"index": np.arange(count), "loss": np.arange(count, 0, -1, dtype=np.float32)}
        write_evaluation(run.path, known | columns, names, **given)
        return open_page(qtbot, context)

    return show


def listed(page: EvaluatePage) -> set[int]:
    return set(page.samples.table.rows.tolist())


def test_masks_are_laid_over_and_images_chosen_by_their_iou(qtbot: QtBot, show_page: ShowPage) -> None:
    rng = np.random.default_rng(0)
    target = rng.integers(0, 2, (12, 4, 6), dtype=np.uint8)
    target[:, 0, 0] = 255
    prediction = np.where(rng.random(target.shape) < 0.3, 1 - np.minimum(target, 1), np.minimum(target, 1)).astype(
        np.uint8
    )
    prediction[3] = np.where(target[3] == 1, 0, target[3] & 1)  # nothing of class 1 is found there
    counted = target != 255

    def count(which: Any) -> Any:
        return np.stack([(which & counted & (value == number)).sum((1, 2)) for number in (0, 1)], 1).astype(np.int32)

    value = target
    support, correct = count(counted), count(target == prediction)
    value = prediction
    predicted = count(counted)
    columns = {
        "target": target,
        "prediction": prediction,
        "support": support,
        "predicted": predicted,
        "correct": correct,
    }
    page = show_page(columns, ("sky", "road"), layout="image", target="mask", task="segmentation")
    view = page.views["figures"]
    assert isinstance(view, FiguresView)
    qtbot.waitUntil(lambda: bool(len(view._bins)))
    iou = correct / (support + predicted - correct)
    view.figure.setCurrentIndex(2)
    view.draw()
    qtbot.waitUntil(lambda: bool(len(view._bins)))
    view.chart.chosen.emit((0, 9))
    assert listed(page) == set(np.flatnonzero(iou[:, 1] < 0.5).tolist())
    chosen = sorted(listed(page))
    assert page.selection.evaluation is not None
    measured = measure_classes(page.selection.evaluation, np.isin(np.arange(12), chosen))
    sums = [part[chosen].sum(0) for part in (correct, support, predicted)]
    shares = sums[0] / (sums[1] + sums[2] - sums[0])
    assert [each.value for each in measured.figures["iou"]] == pytest.approx(shares.tolist())
    dice = measured.figures["dice"][0]
    assert dice.value == pytest.approx(2 * sums[0][0] / (sums[1] + sums[2])[0])
    assert dice.low is not None
    assert dice.value is not None
    assert dice.low < dice.value
    view.choose_worst()
    assert listed(page) == set(np.flatnonzero(iou[:, 1] <= iou[:, 0]).tolist())
    assert 3 in listed(page)
    page.selection.clear()
    # Over the image lies what is picked; an ignored pixel has no class and no error.
    panel = page.samples
    panel.masks.slider.setValue(100)
    place = panel.table.find_place(3)
    assert place is not None
    qtbot.waitUntil(lambda: not panel.find_thumbnail(place).image.isNull())
    looks: dict[str, QImage] = {}
    for layer in ("image", "truth", "prediction", "errors"):
        panel.masks.layers.set_current(layer)
        panel._lay_over_again()
        looks[layer] = panel.find_thumbnail(place).image.scaled(6, 4)
    row, column = (int(at[0]) for at in np.nonzero(target[3] == 1))
    bare = looks["image"].pixelColor(column, row)
    assert looks["truth"].pixelColor(column, row).name() == class_color(1)
    assert looks["prediction"].pixelColor(column, row).name() == class_color(0)
    assert looks["errors"].pixelColor(column, row).name() == theme().palette.danger
    assert {looks[layer].pixelColor(0, 0).name() for layer in ("truth", "errors")} == {bare.name()}
    assert "road" in panel.masks.legend.text()
    panel.enlarge(place)
    dialog = panel.findChild(SampleDialog)
    assert dialog is not None
    assert dialog.pair is not None
    wait_for_soundness(qtbot, dialog)
    assert "truth" in dialog.pair.left.accessibleName()
    left = dialog.pair.left
    size = fit_image(looks["truth"].size().expandedTo(panel.find_thumbnail(place).image.size()), left.size())
    at = (
        (left.width() - size.width()) / 2 + (column + 0.5) / 6 * size.width(),
        (left.height() - size.height()) / 2 + (row + 0.5) / 4 * size.height(),
    )
    qtbot.mouseClick(left, Qt.MouseButton.LeftButton, pos=QPointF(*at).toPoint())
    assert dialog.bar.is_on
    assert dialog.bar.chosen == 1  # the class that was clicked
    assert "not there any more" in dialog.bar.words.text()
    qtbot.keyClick(dialog.pair, Qt.Key.Key_Right)
    assert dialog.at == place + 1
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert page.selection.looked_at == panel.table.rows[place + 1]


def test_a_query_is_listed_in_the_predicted_order(qtbot: QtBot, show_page: ShowPage) -> None:
    target = np.array([[2, 0, 1, np.nan], [0, 1, 2, 3]], np.float32)
    scores = np.array([[0.1, 0.9, 0.5, np.nan], [0, 1, 2, 3]], np.float32)
    page = show_page({"target": target, "scores": scores}, ("rank",), target="ranks", task="ranking")
    view, figures = page.views["ranking"], page.views["figures"]
    assert isinstance(view, RankingView)
    assert isinstance(figures, FiguresView)
    assert [(each.item, each.rank, each.first, each.is_behind) for each in view.items] == [
        (2, 0.0, 3, False),
        (3, 1.0, 2, True),
        (1, 2.0, 1, True),
    ]
    page.samples.rows.selectRow(1)
    assert [each.item for each in view.items] == [4, 3, 2, 1]
    assert not any(each.is_behind for each in view.items)
    qtbot.waitUntil(lambda: bool(len(figures._bins)))
    figures.chart.chosen.emit((19, 19))  # ranked as well as can be
    assert listed(page) == {1}


def test_a_token_tells_its_loss_and_chooses_its_passages(qtbot: QtBot, show_page: ShowPage) -> None:
    names = (UNKNOWN, "\n", "<", "b")
    target = np.array([[2, 3, 1], [3, 3, 1], [2, 1, -100]], np.int32)
    prediction = np.array([[3, 3, 1], [3, 3, 1], [2, 1, 1]], np.int32)
    losses = np.array([[2.0, 0.5, 0.25], [0.5, 0.5, 0.25], [1.0, 0.25, 0.0]], np.float16)
    page = show_page(
        {"target": target, "prediction": prediction, "token_loss": losses},
        names,
        layout="tokens",
        target="tokens",
        task="language_model",
    )
    view = page.views["tokens"]
    assert isinstance(view, TokensView)
    assert view.passage.toPlainText().replace("\n", "") == "<b↵"
    view.passage.highlighted.emit(QUrl("#0"))
    assert view.words.text() == f"“<”: loss 2, probability {math.exp(-2):.1%}; predicted: “b”"
    qtbot.waitUntil(lambda: bool(view.worst))
    assert [(each.token, each.occurrences, each.loss) for each in view.worst] == [
        (2, 2, 1.5),
        (3, 3, 0.5),
        (1, 3, 0.25),
    ]
    view.passage.anchorClicked.emit(QUrl("#0"))
    assert listed(page) == {0, 2}
    view.table.row_chosen.emit(1)
    assert listed(page) == {0, 1}
    page.samples.rows.selectRow(1)
    assert view.passage.toPlainText().replace("\n", "") == "bb↵"


def test_neighbors_of_a_sample_are_listed_with_their_classes(qtbot: QtBot, show_page: ShowPage) -> None:
    embedding = np.array([[0, 0], [1, 0], [3, 0], [9, 9]], np.float32)
    columns = {"embedding": embedding, "target": np.array([0, 0, 1, 1], np.int32)}
    page = show_page(columns, ("cat", "dog"), task="metric_learning")
    view = page.views["neighbors"]
    assert isinstance(view, NeighborsView)
    page.selection.look_at(0)
    assert view.nearest == [1, 2, 3]
    assert view.table.rows.wrong == {1, 2}
    assert "1 of its 3 nearest are of its class" in view.title.text()
    assert not {"loss", "slices"} & {each.key for each in page._shown}  # no sample has a loss of its own
    orders = [page.samples.order.itemText(at) for at in range(page.samples.order.count())]
    assert orders == ["Worst first", "Best first", "Random", "Most unsure"]
    own = np.array([1.0, 1.0, math.hypot(6, 9), math.hypot(6, 9)])  # to the other sample of the class
    other = np.array(
        [math.hypot(6, 4.5), math.hypot(5, 4.5), 2.5, math.hypot(8.5, 9)]
    )  # to the center of the other one
    assert page.selection.evaluation is not None
    assert measure_misplacement(page.selection.evaluation) == pytest.approx(own - other)
    assert page.samples.table.rows.tolist() == [2, 3, 1, 0]
    page.samples.table.set_order("unsure")
    assert page.samples.table.rows.tolist() == [3, 1, 0, 2]
    assert [each.title for each in page.samples.table.columns] == ["Sample"]
    view.table.row_chosen.emit(1)
    assert view.nearest == [1, 0, 3]
    assert page.samples.rows.currentIndex().row() == page.samples.table.find_place(2)
    view.choose_neighbors()
    assert listed(page) == {0, 1, 2, 3}


def test_the_orders_are_those_of_the_task_that_is_shown(show_page: ShowPage, tmp_path: Path) -> None:
    known: dict[str, Any] = {"index": np.arange(3), "target": np.array([0, 1, 1], np.int32)}
    page = show_page(known | {"embedding": np.eye(3, dtype=np.float32)}, ("cat", "dog"), task="metric_learning")
    order, tips = page.samples.order, []
    scores = {"scores": np.eye(3, dtype=np.float32)[:, :2], "log_sum": np.ones(3, np.float32)}
    classes = known | scores | {"prediction": known["target"], "target_score": np.ones(3, np.float32)}
    for task in ("binary", "classification"):
        losses = {"loss": np.arange(3, dtype=np.float32)}
        page.selection.show(write_evaluation(tmp_path / task, classes | losses, ("cat", "dog"), task=task))
        assert (order.currentText(), page.samples.table.order) == ("Worst first", "worst")
        tips.append(order.itemData(order.findText("Most unsure"), Qt.ItemDataRole.ToolTipRole))
    assert "the threshold" in tips[0]
    assert "the two likeliest classes" in tips[1]


def test_of_several_tasks_each_class_has_its_figures_in_a_selection_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    target = np.stack([rng.integers(0, 3, 60), rng.normal(size=60), rng.integers(0, 2, 60)], 1).astype(np.float32)
    prediction = np.where(rng.random(target.shape) < 0.7, target, 0.0).astype(np.float32)
    known: dict[str, Any] = {"index": np.arange(60), "loss": np.zeros(60, np.float32)}
    columns = known | {"target": target, "prediction": prediction}
    classes = (("red", "green", "blue"), (), ("no", "yes"))
    names = ("color", "size", "ripe")
    evaluation = write_evaluation(tmp_path, columns, names, target="tasks", task="tasks", target_classes=classes)
    assert ClassesView.supports(evaluation.record)
    chosen = rng.random(60) < 0.5
    for mask in (None, chosen):
        rows = np.ones(60, bool) if mask is None else mask
        measured = measure_classes(evaluation, mask)
        assert measured.names == ["color: red", "color: green", "color: blue", "ripe: no", "ripe: yes"]
        truth, answers = target[rows][:, 2], prediction[rows][:, 2]
        assert measured.support[-1] == (truth == 1).sum()
        f1 = measured.figures["f1"][-1]
        both = ((truth == 1) & (answers == 1)).sum()
        expected = 2 * both / ((truth == 1).sum() + (answers == 1).sum())
        assert f1.value == pytest.approx(expected)
        assert f1.low is not None
        assert f1.high is not None
        assert f1.low < expected < f1.high
        blue = target[rows][prediction[rows][:, 0] == 2][:, 0] == 2
        assert measured.figures["precision"][2].value == pytest.approx(blue.mean())
    assert find_class(evaluation, number=3).tolist() == (target[:, 2] == 0).tolist()


def list_orders(tmp_path: Path, task: str, **columns: NDArray[Any]) -> dict[str, list[int]]:
    """The samples in each order that is offered, by its title; the third is the one with the largest loss."""
    count = len(next(iter(columns.values())))
    kept: dict[str, NDArray[Any]] = {"index": np.arange(count), "loss": np.arange(count, dtype=np.float32), **columns}
    target = {"binary": "class", "multi_label": "labels", "segmentation": "mask", "language_model": "tokens"}
    classes: dict[str, Any] = {"target_classes": ((), ("no", "yes"))} if task == "tasks" else {}
    evaluation = write_evaluation(
        tmp_path / task, kept, ("a", "b"), target=target.get(task, task), task=task, threshold=0.25, **classes
    )
    return {order.title: sort_samples(evaluation, order.key).tolist() for order in orders_of(evaluation)}


def of(kind: type[np.generic], values: Any) -> NDArray[Any]:
    return np.array(values, kind)


def test_samples_are_listed_by_what_fits_each_task(tmp_path: Path) -> None:
    """Of a threshold of 0.25: a logit of -1.1 is at it."""
    single, two = of(np.float32, [[0], [-1], [2]]), of(np.float32, [[9, -9], [-1, 1], [-9, 0]])
    binary = list_orders(
        tmp_path,
        "binary",
        scores=np.concatenate([0 * single, single], 1),
        target=of(np.int32, [1, 0, 0]),
        prediction=of(np.int32, [1, 1, 1]),
        target_score=single[:, 0],
        log_sum=np.logaddexp(0, single[:, 0]),
    )
    assert binary["Most confused"] == [2, 1, 0]
    assert binary["Most unsure"] == [1, 0, 2]
    labels = list_orders(tmp_path, "multi_label", scores=two, target=of(np.uint8, [[1, 0], [0, 0], [1, 1]]))
    assert labels["Most confused"] == [2, 1, 0]
    assert labels["Most unsure"] == [1, 2, 0]
    tasks = list_orders(
        tmp_path,
        "tasks",
        target=of(np.float32, [[3.0, 0], [4.0, 1], [5.0, 1]]),
        prediction=of(np.float32, [[9.0, 1], [9.0, 1], [9.0, 0]]),
        probability=of(np.float32, [[np.nan, 0.6], [np.nan, 0.55], [np.nan, 0.9]]),
    )
    assert tasks["Most confused"] == [2, 0, 1]
    assert tasks["Most unsure"] == [1, 0, 2]
    areas = {"support": [[8, 2], [10, 0], [10, 0]], "predicted": [[8, 2], [9, 1], [10, 0]]}
    masks = list_orders(
        tmp_path,
        "segmentation",
        target=np.zeros((3, 1, 10), np.uint8),
        prediction=np.zeros((3, 1, 10), np.uint8),
        correct=of(np.int32, [[7, 1], [9, 0], [10, 0]]),
        **{name: of(np.int32, each) for name, each in areas.items()},
    )
    assert masks["Least IoU"] == [1, 0, 2]  # .9 and 0; 7/9 and 1/3; 1
    assert masks["Most confused"] == [0, 1, 2]
    assert "Most unsure" not in masks
    tokens = list_orders(
        tmp_path,
        "language_model",
        target=of(np.int32, [[0, 1], [0, 1], [0, 1]]),
        prediction=of(np.int32, [[0, 1], [0, 1], [0, 1]]),
        token_loss=of(np.float16, [[1, 1], [0, 7], [3, 3]]),
    )
    assert list(tokens) == ["Worst first", "Best first", "Random", "Worst token"]
    assert tokens["Worst token"] == [1, 2, 0]
