"""The chosen samples one at a time, in the order in which they are listed."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from studio.panels.samples.enlarged_sample import EnlargedSample
from studio.state.evaluations.sample_table import SampleTable


class ListedSample(EnlargedSample):
    """Begins with the sample at ``place`` of ``table``; the last is followed by the first. Other samples in the table end it. A class of
    its own shows the one that is at hand."""

    def __init__(
        self,
        table: SampleTable,
        place: int,
        parent: QWidget | None = None,
        view: QWidget | None = None,
        below: QWidget | None = None,
    ) -> None:
        super().__init__(parent, view, below)
        self.at = place
        self._table = table
        table.modelReset.connect(self.reject)

    @property
    def row(self) -> int:
        """Of the evaluation."""
        return int(self._table.rows[self.at])

    @property
    def position(self) -> str:
        """ "3 of 40"."""
        return f"{self.at + 1:,} of {len(self._table.rows):,}"

    def step(self, by: int) -> None:
        self.at = (self.at + by) % len(self._table.rows)
        self._show()

    def _show(self) -> None:
        raise NotImplementedError
