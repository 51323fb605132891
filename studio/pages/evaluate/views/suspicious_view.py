"""Labels that are probably wrong: of a held-out part at once, of the training part by runs that leave a fold out each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Slot
from shiboken6 import isValid

from studio.actions.excluding import branch_without, exclude_rows, start_over_without
from studio.pages.evaluate.view import View
from studio.pages.evaluate.views.fold_runs import FoldRuns
from studio.pages.evaluate.views.suspicious_table import SuspiciousTable
from studio.panels.samples.sample_images import SampleImages
from studio.state.context import AppContext
from studio.state.evaluations.excluding import find_listed, would_leave_out_more
from studio.state.evaluations.selection import Selection
from studio.widgets import button, flow_box, in_widget, label, vbox
from training.errors import pluralize
from training.predictions import Evaluation, EvaluationRecord
from training.predictions.suspicious import (
    SuspiciousLabel,
    SuspiciousLabels,
    find_suspicious_labels,
    read_found,
    refuse_target,
)
from training.runs.folder import RunFolder
from training.system.plain_table import Table

_ALL = "Suspicious labels"
_ON_TRAIN = (
    "This model has trained on these samples, wrong labels as well, so its own answers cannot tell which labels are wrong. "
    "Runs that leave a part of the samples out each, and judge it then, can."
)
_WAYS = (
    "Start over trains a new run from step 0, with fresh weights. The branch begins with this checkpoint's weights, which have "
    "learned from the samples that are left out."
)


class SuspiciousView(View):
    """Ticks are for the exclude list. A click on a row chooses its sample."""

    key = "suspicious"
    heading = "Suspicious labels"
    tab = "Labels"

    def __init__(self, context: AppContext, selection: Selection) -> None:
        super().__init__(context, selection)
        self.found: SuspiciousLabels | None = None
        self._evaluation: Evaluation | None = None
        self._rows: dict[int, int] = {}  # of the evaluation, by the numbers of suspicious samples
        self.images = SampleImages(context.engine, self)
        self.words = label("", "help", wrap=True)
        self.table = SuspiciousTable()
        self.table.label_chosen.connect(self._on_label)
        self.table.labels.ticked.connect(self._show_buttons)
        self.images.arrived.connect(self.table.labels.show_images)
        self.show_all = button("Select them", tooltip="Look at the suspicious samples only", clicked=self.choose_all)
        self.tick_all = button("Tick all", "", "ghost", clicked=self._tick_all)
        self.exclude = button("Put on exclude list …", clicked=self.exclude_ticked)
        self._buttons = in_widget(flow_box(self.show_all, self.tick_all, self.exclude))
        self.start_over = button("Start over without them", "play", "primary", clicked=self._start_over)
        self.branch = button("Branch without them", "branch", clicked=lambda: branch_without(context))
        self._ways = in_widget(vbox(in_widget(flow_box(self.start_over, self.branch)), label(_WAYS, "help", wrap=True)))
        self.folds = FoldRuns(context)
        self.add(self.words, (self.table, 1), self._buttons, self._ways, self.folds)
        self.offer(None, self._tabulate)
        context.labels.finished.connect(self._look_again)

    @classmethod
    def supports(cls, record: EvaluationRecord) -> bool:
        return not refuse_target(record.target, "log_sum" in record.columns)

    def show_evaluation(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self.images.show_evaluation(evaluation if evaluation.record.layout == "image" else None)
        self.table.set_images(self.images.find if evaluation.record.layout == "image" else None)
        self.table.labels.set_ticks(set())
        self._take(None)
        self._look_again()

    def follow(self) -> None:
        if self.found is not None:
            mask = self.selection.mask_of_others(self.key)
            self.table.labels.replace(
                [each for each in self._list_known() if mask is None or mask[self._rows[each.number]]]
            )
        self._show()

    def choose_all(self) -> None:
        """Choose every suspicious sample."""
        self.choose(_ALL, partial(find_numbers, numbers=list(self._rows)))

    def exclude_ticked(self) -> None:
        """Put the ticked samples on the exclude list, and take their ticks away."""
        rows = [self._rows[number] for number in sorted(self.table.labels.ticks) if number in self._rows]
        if self._evaluation is not None and exclude_rows(self.context, self, self._evaluation, rows, self._show_listed):
            self.table.labels.set_ticks(set())
            self._show_listed()

    # ------------------------------------------------------------------------------------------- inside

    @Slot()
    def _show_listed(self) -> None:
        """Say which are on the exclude list already."""
        evaluation = self._evaluation
        if evaluation is not None and isValid(self):
            listed = find_listed(evaluation, self._rows.values())
            self.table.labels.set_listed({number for number, row in self._rows.items() if row in listed})
            self._show_buttons()

    @property
    def _is_own_part(self) -> bool:
        """Whether the model trained on what is looked at."""
        return self._evaluation is not None and self._evaluation.record.on == "train"

    def _find_run(self) -> RunFolder | None:
        return RunFolder(self._evaluation.folder.parent.parent) if self._evaluation is not None else None

    @Slot()
    def _look_again(self) -> None:
        """Find them in the background."""
        evaluation, run = self._evaluation, self._find_run()
        if evaluation is None or run is None:
            return

        def find() -> SuspiciousLabels | None:
            if evaluation.record.on != "train":
                return find_suspicious_labels(evaluation)
            return read_found(run, evaluation.record.fingerprint)

        def take(found: SuspiciousLabels | None) -> None:
            if isValid(self) and evaluation is self._evaluation:
                self._take(found)
                self.follow()

        def refuse(error: Exception) -> None:
            if isValid(self) and evaluation is self._evaluation:
                self.words.setText(str(error))

        self.words.setText("Looking for suspicious labels …")
        self.context.background.submit(find, take, refuse)

    def _take(self, found: SuspiciousLabels | None) -> None:
        self.found = found
        self._rows = {}
        if found is not None and self._evaluation is not None:
            index = np.asarray(self._evaluation.column("index"))
            order = np.argsort(index, kind="stable")
            numbers = np.array([each.number for each in found.found], np.int64)
            places = np.minimum(np.searchsorted(index[order], numbers), len(index) - 1)
            rows = order[places]
            self._rows = {
                number: row
                for number, row in zip(numbers.tolist(), rows.tolist(), strict=True)
                if int(index[row]) == number
            }
        self.table.labels.replace(self._list_known())
        self._show_listed()

    def _list_known(self) -> Sequence[SuspiciousLabel]:
        return [each for each in self.found.found if each.number in self._rows] if self.found is not None else ()

    def _show(self) -> None:
        found = self.found
        if found is not None:
            by = f" to {found.folds} runs that did not train on them" if found.folds else ""
            count = pluralize(len(found.found), "label")
            few = "is" if len(found.found) == 1 else "are"
            words = (
                f"{count} of {found.samples:,} {few} suspicious{by}. Look at each, and tick those for the exclude list."
            )
            self.words.setText(" ".join([words if found.found else f"No label is suspicious{by}.", *found.notes]))
        elif self._is_own_part:
            self.words.setText(_ON_TRAIN)
        has_any = bool(self._list_known())
        self.table.setVisible(has_any)
        self._buttons.setVisible(has_any)
        self._show_buttons()
        run = self._find_run()
        if run is not None and self._evaluation is not None:
            self.folds.show_run(run, self._evaluation.record, self._is_own_part and found is not None)

    @Slot()
    def _show_buttons(self) -> None:
        ticks = len(self.table.labels.ticks & self._rows.keys())
        self.tick_all.setText("Untick all" if ticks else "Tick all")
        self.exclude.setText(f"Put {ticks:,} on exclude list …" if ticks else "Put on exclude list …")
        self.exclude.setEnabled(bool(ticks))
        run = self._find_run()
        self._ways.setVisible(run is not None and would_leave_out_more(run))

    def _start_over(self) -> None:
        if (run := self._find_run()) is not None:
            start_over_without(self.context, run)

    def _on_label(self, found: SuspiciousLabel) -> None:
        words = f"“{found.given}”, probably “{found.suggested}”: {found.name}"
        self.choose(words, partial(find_numbers, numbers=[found.number]), found.number)

    def _tick_all(self) -> None:
        shown = {each.number for each in self.table.labels.labels} - self.table.labels.listed
        self.table.labels.set_ticks(set() if self.table.labels.ticks & self._rows.keys() else shown)

    def _tabulate(self) -> Table:
        shown = self.table.labels.labels
        return {
            "number": [each.number for each in shown],
            "sample": [each.name for each in shown],
            "given": [each.given for each in shown],
            "suggested": [each.suggested for each in shown],
            "score": [each.score for each in shown],
        }


def find_numbers(evaluation: Evaluation, *, numbers: Sequence[int]) -> NDArray[np.bool_]:
    """The samples of these numbers in the data."""
    return np.isin(evaluation.column("index"), numbers)
