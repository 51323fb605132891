"""What Check found: a list above the start bar, put away with a click."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from studio.theme import SPACING, IconRole, Tone
from studio.widgets import Card, IconLabel, ProgressLine, StatusPill, button, icon_button, label, scroll_area

_ICONS: dict[str, tuple[str, IconRole]] = {
    "ok": ("check", "success"),
    "info": ("info", "accent"),
    "warning": ("warning", "warning"),
    "error": ("cross", "danger"),
}
_MOST_HEIGHT = 210


class FindingsPanel(Card):
    """Signals: `closed()` when the person puts it away; `apply_asked(settings)` for what a finding proposes."""

    closed = Signal()
    apply_asked = Signal(object)

    def __init__(self) -> None:
        super().__init__("Check", "check")
        self._pill = StatusPill()
        self._line = ProgressLine()
        self._list = QWidget()
        self._rows = QVBoxLayout(self._list)
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setSpacing(SPACING.s)
        self._area = scroll_area(self._list)
        self._area.setMaximumHeight(_MOST_HEIGHT)
        close = icon_button("cross", "Put the findings away")
        close.clicked.connect(self.close_list)
        self.add_action(self._pill)
        self.add_action(close)
        self.add(self._line)
        self.add(self._area)
        self.hide()

    def show_busy(self, text: str = "", fraction: float | None = None) -> None:
        """The engine is looking."""
        self._pill.set_status("Looking", "accent")
        self._line.set_progress(fraction, text or "Opening the data, building the model, trying one batch")
        self._line.show()
        self._area.hide()
        self.show()

    def show_findings(self, findings: Sequence[Mapping[str, Any]]) -> None:
        """One row for each finding; the pill says the worst."""
        levels = {str(finding.get("level")) for finding in findings}
        tone: Tone = "danger" if "error" in levels else "warning" if "warning" in levels else "success"
        words = {"danger": "Cannot start", "warning": "Worth a look", "success": "Ready to start"}
        self._pill.set_status(words[tone], tone)
        while (old := self._rows.takeAt(0)) is not None:
            if (widget := old.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        for finding in findings:
            self._rows.addWidget(self._row(finding))
        self._rows.addStretch(1)
        self._line.hide()
        self._area.show()
        self.show()
        self._fit_height()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._fit_height()

    def _fit_height(self) -> None:
        """As high as the findings at this width, within reason; then they scroll."""
        room = max(self.width() - 2 * SPACING.l, 320)
        self._area.setFixedHeight(min(self._rows.heightForWidth(room) + 2, _MOST_HEIGHT))

    def close_list(self) -> None:
        """Put it away."""
        self.hide()
        self.closed.emit()

    def texts(self) -> list[str]:
        """What the rows say, for tests and screen readers."""
        rows = [child for child in self._list.children() if isinstance(child, QWidget) and not child.isHidden()]
        return [row.accessibleName() for row in rows]

    def _row(self, finding: Mapping[str, Any]) -> QWidget:
        level, title, advice = (str(finding.get(key) or "") for key in ("level", "title", "advice"))
        picture, role = _ICONS.get(level, _ICONS["info"])
        row = QWidget()
        row.setAccessibleName(f"{level}: {title} {advice}".strip())
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(SPACING.s)
        line.addWidget(IconLabel(picture, 16, role), 0, Qt.AlignmentFlag.AlignTop)
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addWidget(label(title, wrap=True, selectable=True))
        if advice:
            words.addWidget(label(advice, "help", wrap=True, selectable=True))
        line.addLayout(words, 1)
        fix = finding.get("fix")
        if isinstance(fix, Mapping) and fix:
            settings = dict(fix)
            tooltip = "Set " + ", ".join(f"{path} = {value}" for path, value in settings.items())
            apply = button("Apply", tooltip=tooltip)
            apply.clicked.connect(lambda: self.apply_asked.emit(settings))
            line.addWidget(apply, 0, Qt.AlignmentFlag.AlignTop)
        return row
