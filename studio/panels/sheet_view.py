"""What a run takes over from a checkpoint, as lines to read: restored, changed, left behind, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from studio.forms.messages import KindOf, as_full_sentence, tell_change
from studio.theme import SPACING, IconRole
from studio.widgets import IconLabel, empty, label
from training.config.diff import telling
from training.runs.resume_plan import ResumePlan

_Group = tuple[str, str, IconRole, Sequence[str]]


class SheetView(QWidget):
    """Shows one ResumePlan; groups without content take no room."""

    def __init__(self) -> None:
        super().__init__()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(SPACING.s)
        self._grid.setVerticalSpacing(SPACING.xs)
        self._grid.setColumnStretch(2, 1)
        self._shown: ResumePlan | None = None
        self._kept: list[_Group] = []

    def show_sheet(self, sheet: ResumePlan, kind_of: KindOf) -> None:
        """Replace what is shown; ``kind_of`` says the kinds of the new run's sections."""
        if sheet == self._shown:
            return
        self._shown = sheet
        self._kept = _groups(sheet, kind_of)
        empty(self._grid)
        row = 0
        for title, image, role, lines in self._kept:
            self._grid.addWidget(IconLabel(image, 16, role), row, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(label(title, "field"), row, 1, Qt.AlignmentFlag.AlignTop)
            for line in lines:
                self._grid.addWidget(label(line, wrap=True, selectable=True), row, 2)
                row += 1
        self._grid.setRowStretch(row, 1)

    def text(self) -> str:
        """The same in plain lines, for screen readers."""
        return "\n".join(f"{title}: {'; '.join(lines)}" for title, _image, _role, lines in self._kept)


def _groups(sheet: ResumePlan, kind_of: KindOf) -> list[_Group]:
    if sheet.refused:
        return [("Not possible", "cross", "danger", (as_full_sentence(sheet.refused, kind_of),))]
    groups: list[_Group] = [
        ("Restored", "check", "success", [as_full_sentence(text, kind_of) for text in sheet.restored]),
        (
            "Changed",
            "sliders",
            "accent",
            [tell_change(change, kind_of) for change in telling(sheet.changed)],
        ),
        ("Ignored", "cross", "muted", [as_full_sentence(text, kind_of) for text in sheet.ignored]),
        ("Note", "info", "warning", [as_full_sentence(text, kind_of) for text in sheet.notes]),
    ]
    return [group for group in groups if group[3]]
