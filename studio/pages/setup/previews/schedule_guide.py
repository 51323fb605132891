"""Which scheduler suits what, each with its curve; a click chooses one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QWidget

from studio.charts.sparkline import paint_sparkline
from studio.state.drafts.draft import Draft
from studio.theme import SPACING, theme
from studio.widgets import Card, hbox, label, vbox
from training.config import RunConfig
from training.schedules.guide import GUIDE, GuideRow, find_row

_CURVE = QSize(84, 36)


class ScheduleGuide(Card):
    """A row for each; the one that the draft follows is marked."""

    def __init__(self, draft: Draft) -> None:
        super().__init__("Which scheduler when", "help")
        self.body.setSpacing(2)
        self._chosen: GuideRow | None = None
        self.rows = {row.title: GuideButton(row) for row in GUIDE}
        for row, button in zip(GUIDE, self.rows.values(), strict=True):
            button.clicked.connect(partial(self._choose, draft, row))
            self.add(button)

    def follow(self, config: RunConfig | None) -> None:
        """Mark the row that ``config`` follows; none while something is wrong in its schedule."""
        self._chosen = find_row(config.schedule) if config is not None else None
        self._mark()

    def _choose(self, draft: Draft, row: GuideRow) -> None:
        draft.apply(row.changes)
        self._mark()  # a click on what is chosen already does not let it go

    def _mark(self) -> None:
        for title, button in self.rows.items():
            button.setChecked(self._chosen is not None and title == self._chosen.title)


class GuideButton(QPushButton):
    """Curve, name, what it is for and what it does."""

    def __init__(self, row: GuideRow) -> None:
        super().__init__()
        self.setProperty("variant", "ghost")
        self.setCheckable(True)
        self.setAccessibleName(f"Choose {row.title}")
        self.setAccessibleDescription(f"{row.suits}. {row.trait}.")
        words = vbox(
            label(row.title, "field"), label(f"{row.suits}.", wrap=True), label(f"{row.trait}.", "help", wrap=True)
        )
        words.setSpacing(1)
        inside = hbox(_Curve(row.curve()), (words, 1), parent=self, spacing=SPACING.m, margins=SPACING.s)
        inside.setAlignment(Qt.AlignmentFlag.AlignVCenter)
        for part in self.findChildren(QWidget):
            part.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)  # its sentences can wrap
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        layout = self.layout()
        return layout.totalHeightForWidth(width) if layout else super().heightForWidth(width)

    def sizeHint(self) -> QSize:
        layout = self.layout()
        return layout.totalSizeHint() if layout else super().sizeHint()

    def minimumSizeHint(self) -> QSize:
        layout = self.layout()
        return layout.totalMinimumSize() if layout else super().minimumSizeHint()


class _Curve(QWidget):
    def __init__(self, rates: Sequence[float]) -> None:
        super().__init__()
        self.setFixedSize(_CURVE)
        self._rates = rates

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint_sparkline(painter, QRectF(self.rect()), self._rates, theme().palette.curve(0))
        painter.end()
