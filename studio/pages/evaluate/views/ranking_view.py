"""The items of the query that is looked at, in the order in which the model puts them, beside the rank that is true."""

from __future__ import annotations

from PySide6.QtCore import Slot

from studio.pages.evaluate.view import View
from studio.pages.evaluate.views.row_table import RowTable
from studio.state.context import AppContext
from studio.state.evaluations.ranked_items import RankedItem, rank_items
from studio.state.evaluations.selection import Selection
from studio.state.formats import format_number
from studio.widgets import label
from training.predictions import Evaluation, EvaluationRecord
from training.system.plain_table import Table

_TITLES = ("Place", "Item", "Score", "True rank", "Best place")


class RankingView(View):
    """Follows the sample that is looked at; items that stand behind a less suitable one have the color of what is wrong."""

    key = "ranking"
    heading = "Ranked list"
    tab = "Ranked list"

    def __init__(self, context: AppContext, selection: Selection) -> None:
        super().__init__(context, selection)
        self.evaluation: Evaluation | None = None
        self.items: list[RankedItem] = []
        self.title = label("", "caption")
        self.table = RowTable("Items in the predicted order", _TITLES, (0, 1, 2, 3, 4), 12)
        self.set_subtitle("Of the query in the table of samples. In red: behind an item of a lower true rank.")
        self.add(self.title, self.table)
        self.offer(self.table, self._tabulate)
        selection.looked_at_changed.connect(self.follow)

    @classmethod
    def supports(cls, record: EvaluationRecord) -> bool:
        return record.target == "ranks"

    def show_evaluation(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation

    @Slot()
    def follow(self) -> None:
        evaluation, row = self.evaluation, self.selection.looked_at
        if evaluation is None or row < 0 or self.selection.evaluation is not evaluation:
            return
        self.items = rank_items(evaluation, row)
        self.title.setText(f"{evaluation.names[row]}, {len(self.items):,} items")
        rows = [
            (str(at), str(each.item), format_number(each.score), format_number(each.rank), _span(each))
            for at, each in enumerate(self.items, 1)
        ]
        self.table.rows.replace(rows, frozenset(at for at, each in enumerate(self.items) if each.is_behind))

    def _tabulate(self) -> Table:
        return {
            "place": list(range(1, len(self.items) + 1)),
            "item": [each.item for each in self.items],
            "score": [each.score for each in self.items],
            "true rank": [each.rank for each in self.items],
            "best place": [each.first for each in self.items],
        }


def _span(item: RankedItem) -> str:
    return str(item.first) if item.first == item.last else f"{item.first} to {item.last}"
