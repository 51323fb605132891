"""What a run's best validation, and its test, tell of each class: figures, and which class was taken for which."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from studio.charts.confusion import ConfusionMatrix
from studio.panels.columns import TwoColumns
from studio.panels.records.class_figures import FiguresTable
from studio.services.background import Background
from studio.widgets import STRETCH, Card, Segmented, in_widget, label, vbox
from training.runs.folder import RunFolder
from training.runs.records.evaluation import PARTS, Evaluation, Part, read_evaluation

logger = logging.getLogger(__name__)

_TITLES: Mapping[Part, str] = {"validation": "Validation", "test": "Test"}
_LEAST_MATRIX = 240  # for the words above it
_NARROW = 900


class EvaluationCard(Card):
    """Shows ``evaluation.json`` of a run; hidden where there is none, or nothing to tell."""

    def __init__(self, background: Background) -> None:
        super().__init__("Per-class metrics", "chart")
        self._background = background
        self._folder: RunFolder | None = None
        self._kept: Mapping[Part, Evaluation] = {}
        self.part = Segmented([(part, title) for part, title in _TITLES.items()])
        self.part.setAccessibleName("Part of the data")
        self.part.current_changed.connect(self._show_part)
        self.table = FiguresTable()
        self.matrix = ConfusionMatrix()
        self._beside = in_widget(
            vbox(
                self.matrix,
                label("Rows: true class. Columns: predicted class. Row-normalized, %.", "help", wrap=True),
                STRETCH,
            )
        )
        self.add_action(self.part)
        figures = in_widget(vbox(self.table, STRETCH))
        self._columns = TwoColumns(figures, self._beside, side_width=_LEAST_MATRIX, narrow=_NARROW)
        self.add(self._columns)
        self.hide()

    def set_run(self, folder: RunFolder | None) -> None:
        """Look at another run, or none."""
        if folder != self._folder:
            self._folder = folder
            self._show({})
        self.refresh()

    def refresh(self) -> None:
        """Read the file again."""
        folder = self._folder
        if folder is None:
            return

        def read() -> dict[Part, Evaluation]:
            return {part: found for part in PARTS if (found := read_evaluation(folder, part)) is not None}

        def handle_result(kept: dict[Part, Evaluation]) -> None:
            if folder == self._folder and kept != self._kept:
                self._show(kept)

        def handle_failure(error: Exception) -> None:
            logger.warning("An evaluation could not be read: %s", error)

        self._background.submit(read, handle_result, handle_failure)

    def _show(self, kept: Mapping[Part, Evaluation]) -> None:
        self._kept = kept
        self.setVisible(bool(kept))
        if not kept:
            return
        self.part.setVisible(len(kept) > 1)
        if self.part.current() not in kept:
            self.part.set_current(next(iter(kept)))
        self._show_part()

    def _show_part(self) -> None:
        part: Part = "test" if self.part.current() == "test" else "validation"
        shown = self._kept.get(part)
        if shown is None:
            return
        how = "The best validation" if part == "validation" else "The test of the best weights"
        self.set_subtitle(f"{how}, at step {shown.step:,}")
        self.table.setVisible(bool(shown.names))
        self.table.show_evaluation(shown)
        self._beside.setVisible(bool(shown.confusion))
        if shown.confusion:
            self.matrix.set_counts(shown.names, shown.confusion)
            self._columns.set_side_width(max(self.matrix.sizeHint().width(), _LEAST_MATRIX))
