"""What a threshold does: precision-recall and ROC curves of one class or label, and the samples on either side of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from PySide6.QtCore import QSignalBlocker, QTimer
from PySide6.QtWidgets import QMenu, QPushButton

from studio.charts.threshold_curves import ThresholdCurves
from studio.pages.evaluate.view import View
from studio.state.context import AppContext
from studio.state.evaluations.one_class import (
    OUTCOMES,
    OneClass,
    find_outcome,
    oppose,
    round_threshold,
)
from studio.state.evaluations.per_class import Figure, choose_groups, describe_figure, make_figure
from studio.state.evaluations.selection import Selection
from studio.widgets import STRETCH, ComboBox, KeyValueTable, Slider, button, flow_box, hbox, in_widget, label
from training.metric_names import metric
from training.predictions import Evaluation, EvaluationRecord
from training.predictions.probabilities import THRESHOLDS, has_probabilities, has_threshold
from training.predictions.record import ONLY_LARGEST
from training.statistics.curves import Point, precision_recall, rank_scores, roc
from training.statistics.grouped import Ranked, find_area, find_point
from training.system.plain_table import Cell, Table

_STOPS = 1000
"""Of the slider."""
_SETTLED = 120
"""Milliseconds after which a threshold that is dragged is where the person wants it: then the page follows."""
_RATES = ("precision", "recall", "f1", "false_positive_rate")


class ThresholdView(View):
    """Follows what the others chose; what became of the samples at the threshold can be chosen."""

    key = "threshold"
    heading = "Precision-recall and ROC"
    tab = "PR and ROC"

    def __init__(self, context: AppContext, selection: Selection) -> None:
        super().__init__(context, selection)
        self._evaluation: Evaluation | None = None
        self._names: Sequence[str] = ()
        self._task = ""
        self._ranked: Ranked | None = None
        self._one: OneClass | None = None
        self.threshold = 0.5
        self.names = ComboBox()
        self.names.setAccessibleName("Class against the rest")
        self.names.activated.connect(self._on_name)
        self.curves = ThresholdCurves()
        self.curves.threshold_chosen.connect(self.set_threshold)
        self.slider = Slider()
        self.slider.setRange(0, _STOPS)
        self.slider.setAccessibleName("Threshold")
        self.slider.valueChanged.connect(lambda stop: self.set_threshold(stop / _STOPS))
        self.figure = label("", "subtitle")
        self.figures = KeyValueTable()
        self.areas = label("", "caption")
        self.buttons: dict[str, QPushButton] = {}
        for outcome in OUTCOMES:
            made = self.buttons[outcome] = button("", clicked=partial(self.choose_outcome, outcome))
            made.setCheckable(True)
        self.use = button("Use this threshold", clicked=self._open_menu)
        self._rest = label("", "help", wrap=True)
        self._settled = QTimer(self, singleShot=True, interval=_SETTLED)
        self._settled.timeout.connect(self._choose_again)
        self.add(hbox(self.names, STRETCH, self.areas), self.curves)
        self.add(hbox(label("Threshold", "field"), (self.slider, 1), self.figure), self.figures)
        self.add(in_widget(flow_box(*self.buttons.values())), hbox(self.use, STRETCH), self._rest)
        self.offer(self.curves, self.tabulate)

    @classmethod
    def supports(cls, record: EvaluationRecord) -> bool:
        return has_probabilities(record)

    def show_evaluation(self, evaluation: Evaluation) -> None:
        record = evaluation.record
        if record.names != self._names or record.task != self._task:
            self._names, self._task = record.names, record.task
            self.names.clear()
            self.names.addItems(list(record.names))
            self.names.setCurrentIndex(1 if record.target == "class" and len(record.names) == 2 else 0)
            self.threshold = record.threshold
        self.names.setVisible(record.task != "binary")
        self.use.setVisible(has_threshold(record.task))
        self.set_subtitle("Drag on a curve, or the slider. 95% intervals.")
        self._rest.setText(_describe_rest(record, len(self._names)))
        self._rest.setVisible(bool(self._rest.text()))
        self._evaluation = evaluation
        self._one = oppose(evaluation, self._number)

    def follow(self) -> None:
        if self._one is None or self._evaluation is None:
            return
        mask = self.selection.mask_of_others(self.key)
        probability, positive, counted = self._one
        rows = counted if mask is None else counted & mask
        scores, truth = probability[rows], positive[rows]
        ranking = rank_scores(scores, truth)
        self._ranked = Ranked(ranking, scores, truth, choose_groups(self._evaluation, rows))
        total = max(ranking.positives + ranking.negatives, 1)
        self.curves.show_curves(precision_recall(ranking), roc(ranking), ranking.positives / total)
        self.areas.setText(self._describe_area(mask is None))
        self._show_point()

    def set_threshold(self, threshold: float) -> None:
        """Call a sample positive from another probability on; what was chosen here is chosen by it a moment later."""
        threshold = round_threshold(threshold)
        if threshold != self.threshold:
            self.threshold = threshold
            self._remember()
            self._show_point()
            if self.find_chosen() is not None:
                self._settled.start()

    def _remember(self) -> None:
        """An export is offered what was moved here."""
        choice, threshold = self.context.evaluation, min(max(self.threshold, THRESHOLDS[0]), THRESHOLDS[1])
        if self._task == "binary":
            choice.thresholds = (threshold,)
        elif self._task == "multi_label" and self._evaluation is not None:
            known = choice.thresholds or (self._evaluation.record.threshold,) * len(self._names)
            number = self._number
            choice.thresholds = (*known[:number], threshold, *known[number + 1 :])

    def choose_outcome(self, outcome: str) -> None:
        """Choose the samples that became ``outcome``, a key of ``OUTCOMES``."""
        words = f"{OUTCOMES[outcome]} of “{self._names[self._number]}” from {self.threshold:.4g} on"
        find = partial(find_outcome, number=self._number, threshold=self.threshold, outcome=outcome)
        self.choose(words, find, (outcome, self._number))
        self._mark()

    def find_point(self) -> Point:
        """What the threshold does to the samples that the other views left."""
        assert self._ranked is not None
        return find_point(self._ranked, self.threshold)

    def use_in_branch(self) -> None:
        """Prepare a branch of the checkpoint whose ``objective.threshold`` is this one."""
        choice = self.context.evaluation
        if choice.folder is not None and choice.checkpoint is not None:
            self.context.branch_from(choice.folder, choice.checkpoint)
            self._write_threshold()

    def use_in_next(self) -> None:
        """Write it into the settings of the next run."""
        self._write_threshold()
        self.context.show_page("setup")

    def tabulate(self) -> Table:
        """Both curves, thinned as they are drawn, by their thresholds."""
        assert self._ranked is not None
        found = precision_recall(self._ranked.ranking).thresholds
        points = [find_point(self._ranked, threshold) for threshold in found[np.isfinite(found)].tolist()]
        rates = {name: [getattr(point, name) for point in points] for name in _RATES}
        table: dict[str, list[Cell]] = {"threshold": [point.threshold for point in points]}
        for outcome in OUTCOMES:
            table[OUTCOMES[outcome].lower()] = [getattr(point, outcome) for point in points]
        for name, intervals in rates.items():
            table[name] = [interval.value for interval in intervals]
            table[f"{name} low"] = [interval.low for interval in intervals]
            table[f"{name} high"] = [interval.high for interval in intervals]
        return table

    # ------------------------------------------------------------------------------------------- inside

    @property
    def _number(self) -> int:
        return max(self.names.currentIndex(), 0)

    def _describe_area(self, of_all: bool) -> str:
        """AUROC, of all samples with the interval that the evaluation measured."""
        assert self._evaluation is not None
        assert self._ranked is not None
        record = self._evaluation.record
        if "classes" in record.columns:
            return "AUROC: not measured"
        found = find_measured_area(record, self._number) if of_all else None
        figure = found or make_figure(find_area(self._ranked))
        return "" if figure.value is None else f"AUROC {describe_figure('auroc', figure)}"

    def _on_name(self) -> None:
        if self._evaluation is None:
            return
        self._one = oppose(self._evaluation, self._number)
        self.follow()
        self._choose_again()

    def _choose_again(self) -> None:
        """What was chosen here, at the threshold and of the class that stand here now."""
        chosen = self.find_chosen()
        if isinstance(chosen, tuple):
            self.choose_outcome(chosen[0])

    def _show_point(self) -> None:
        if self._ranked is None:
            return
        with QSignalBlocker(self.slider):
            self.slider.setValue(round(self.threshold * _STOPS))
        point = self.find_point()
        self.figure.setText(f"{self.threshold:.4g}")
        rows = _describe_point(point)
        self.figures.set_rows(rows)
        recall = point.recall.value
        self.curves.show_point(
            ", ".join(f"{name} {value}" for name, value in [("Threshold", f"{self.threshold:.4g}"), *rows]),
            (recall, point.precision.value),
            (point.false_positive_rate.value, recall),
        )
        for outcome, made in self.buttons.items():
            made.setText(f"{OUTCOMES[outcome]}: {getattr(point, outcome):,}")
        self._mark()

    def _mark(self) -> None:
        chosen = self.find_chosen()
        for outcome, made in self.buttons.items():
            made.setChecked(chosen == (outcome, self._number))

    def _open_menu(self) -> None:
        menu = self.make_menu()
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self.use.mapToGlobal(self.use.rect().bottomLeft()))

    def make_menu(self) -> QMenu:
        """Where the threshold can be used."""
        menu = QMenu(self)
        branch = menu.addAction("In a branch from this checkpoint", self.use_in_branch)
        branch.setEnabled(self.context.evaluation.checkpoint is not None)
        following = menu.addAction("In the next run", self.use_in_next)
        following.setEnabled(self.context.draft.kind("objective") == self._task)
        return menu

    def _write_threshold(self) -> None:
        draft = self.context.draft
        if not has_threshold(draft.kind("objective")) or not 0.0 < self.threshold < 1.0:
            words = "A decision threshold lies between 0 and 1, both excluded; move it a little."
            self.context.notifier.notify(words, "warning", title="The threshold was not written")
            return
        draft.set("objective.threshold", self.threshold)
        draft.finish_edit()
        self.context.notifier.notify(
            f"Decision threshold {self.threshold:.4g}: from this probability on the answer is yes.", "success"
        )


def find_measured_area(record: EvaluationRecord, number: int) -> Figure | None:
    """What the evaluation measured of a class or a label; None where it did not, or without an interval."""
    measured = record.metrics.get("auroc") if record.task == "binary" else None
    found = Figure(measured.value, measured.low, measured.high) if measured is not None else None
    if "auroc" in record.per_class:
        found = Figure(*record.per_class["auroc"][number])
    return found if found is not None and found.low is not None else None


def _describe_point(point: Point) -> list[tuple[str, str]]:
    return [(metric(name).title, describe_figure(name, Figure(*getattr(point, name)))) for name in _RATES]


def _describe_rest(record: EvaluationRecord, classes: int) -> str:
    """What has to be known beside the curves."""
    if record.task == "multi_label":
        return "The threshold is one for all labels."
    if has_threshold(record.task) or record.target == "labels":
        return ""
    words = "One class against the rest: the model itself answers the likeliest class, whatever the threshold."
    if "classes" in record.columns:
        words += f" AUROC is not measured, since {ONLY_LARGEST}: a class that is not among them has probability 0 here."
    return words
