"""The samples that a network puts closest to the one that is looked at, and whether they are of its class."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Slot

from studio.pages.evaluate.view import View
from studio.pages.evaluate.views.row_table import RowTable
from studio.state.context import AppContext
from studio.state.evaluations.neighbors import find_around, find_neighbors
from studio.state.evaluations.selection import Selection
from studio.state.formats import format_number
from studio.widgets import button, label
from training.predictions import Evaluation, EvaluationRecord

_MOST = 10


class NeighborsView(View):
    """A row goes on to that sample."""

    key = "neighbors"
    heading = "Nearest neighbors"
    tab = "Neighbors"

    def __init__(self, context: AppContext, selection: Selection) -> None:
        super().__init__(context, selection)
        self.evaluation: Evaluation | None = None
        self.nearest: list[int] = []
        self.title = label("", "caption", wrap=True)
        self.table = RowTable("Nearest neighbors", ("Sample", "Class", "Distance"), (2,), _MOST)
        self.table.row_chosen.connect(lambda at: selection.look_at(self.nearest[at]))
        self.take = button("Select these", clicked=self.choose_neighbors)
        self.take.setToolTip("Look at this sample and its neighbors only")
        self.set_subtitle("Of the sample that is looked at. In red: of another class.")
        self.add(self.title, self.table, self.take)
        self.offer(self.table, self.table.rows.tabulate)
        selection.looked_at_changed.connect(self.follow)

    @classmethod
    def supports(cls, record: EvaluationRecord) -> bool:
        return "embedding" in record.columns and "target" in record.columns

    def show_evaluation(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation

    @Slot()
    def follow(self) -> None:
        evaluation, row = self.evaluation, self.selection.looked_at
        if evaluation is None or row < 0 or self.selection.evaluation is not evaluation:
            return
        names, target = evaluation.record.names, evaluation.column("target")
        nearest, distances = find_neighbors(evaluation, row, _MOST)
        self.nearest = nearest.tolist()
        own = int(target[row])
        wrong = frozenset(at for at, other in enumerate(self.nearest) if int(target[other]) != own)
        rows = [
            (str(evaluation.names[other]), names[int(target[other])], format_number(distance))
            for other, distance in zip(self.nearest, distances.tolist(), strict=True)
        ]
        self.table.rows.replace(rows, wrong)
        same = len(self.nearest) - len(wrong)
        self.title.setText(
            f"{evaluation.names[row]} of class “{names[own]}”: {same} of its {len(self.nearest)} nearest are of its class."
        )

    def choose_neighbors(self) -> None:
        """Choose the sample that is looked at and its neighbors."""
        evaluation, row = self.evaluation, self.selection.looked_at
        if evaluation is not None and row >= 0:
            self.choose(f"Neighbors of {evaluation.names[row]}", partial(find_around, row=row, most=_MOST), row)
