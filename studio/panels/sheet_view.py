"""What a run takes over from a checkpoint, as lines to read: restored, changed, left behind, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from studio.state.drafts.setting_specs import defaults
from studio.theme import SPACING, IconRole
from studio.widgets import IconLabel, empty, label
from training.config.diff import Change
from training.config.rules.resume_plan import ResumePlan

_Group = tuple[str, str, IconRole, Sequence[str]]


class SheetView(QWidget):
    """Shows one ResumePlan; groups without content take no room."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(SPACING.s)
        self._grid.setVerticalSpacing(SPACING.xs)
        self._grid.setColumnStretch(2, 1)
        self._shown: ResumePlan | None = None

    def show_sheet(self, sheet: ResumePlan) -> None:
        """Replace what is shown."""
        if sheet == self._shown:
            return
        self._shown = sheet
        empty(self._grid)
        row = 0
        for title, image, role, lines in _groups(sheet):
            self._grid.addWidget(IconLabel(image, 16, role), row, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(label(title, "field"), row, 1, Qt.AlignmentFlag.AlignTop)
            for line in lines:
                self._grid.addWidget(label(line, wrap=True, selectable=True), row, 2)
                row += 1
        self._grid.setRowStretch(row, 1)

    def text(self) -> str:
        """The same in plain lines, for screen readers."""
        groups = _groups(self._shown) if self._shown else []
        return "\n".join(f"{title}: {'; '.join(lines)}" for title, _image, _role, lines in groups)


def telling(changes: Sequence[Change]) -> list[Change]:
    """``changes`` without what another kind brings along: the old one's settings, and the new one's defaults."""
    usual = {
        f"{section}.{name}": value
        for section, kind in (
            (change.path.partition(".")[0], str(change.new)) for change in changes if change.path.endswith(".kind")
        )
        for name, value in defaults(section, kind).items()
    }
    replaced = {path.partition(".")[0] for path in usual}
    return [
        change
        for change in changes
        if change.path.partition(".")[0] not in replaced
        or change.path.endswith(".kind")
        or (change.path in usual and change.new != usual[change.path])
    ]


def _groups(sheet: ResumePlan) -> list[_Group]:
    if sheet.refused:
        return [("Not possible", "cross", "danger", (_sentence(sheet.refused),))]
    groups: list[_Group] = [
        ("Restored", "check", "success", [_sentence(text) for text in sheet.restored]),
        (
            "Changed",
            "sliders",
            "accent",
            [str(change) for change in telling(sheet.changed)] or ["No setting is changed yet."],
        ),
        ("Ignored", "cross", "muted", [_sentence(text) for text in sheet.ignored]),
        ("Note", "info", "warning", [_sentence(text) for text in sheet.notes]),
    ]
    return [group for group in groups if group[3]]


def _sentence(clause: str) -> str:
    is_name = "." in clause.partition(" ")[0]  # a setting keeps its spelling
    return f"{clause[:1] if is_name else clause[:1].upper()}{clause[1:].rstrip('.')}."
