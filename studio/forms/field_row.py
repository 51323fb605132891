"""One setting in a form: mark of change, title, editor, explanation, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue
from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QLineEdit, QSizePolicy, QToolButton, QWidget

from studio.forms.editor import EDITOR_WIDTH
from studio.forms.editors import make_editor
from studio.forms.fix_link import FixLink
from studio.forms.messages import describe_range, format_value, problem_sentence
from studio.state.drafts.setting_specs import default_value, join_path
from studio.theme import SPACING, icon, set_role
from studio.widgets import Hint, hbox, label, leave_undo_to_page, set_tooltip
from training.config.field_spec import FieldSpec
from training.config.rules.inactive_settings import Inactive
from training.errors import Problem

_DOT = 18
_EMPTY = ("Must not be empty", "Is required")  # how sentences begin that say no more than "Required"
TITLE_INDENT = _DOT + SPACING.xs
"""How far from the left the titles of all rows begin."""


class ResetDot(QToolButton):
    """Says that something differs from its default; a click puts the default back."""

    def __init__(self, name: str, default: str) -> None:
        super().__init__()
        self.setProperty("resetDot", True)
        self.setFixedSize(_DOT, _DOT)
        self.setIconSize(QSize(12, 12))
        self.setIcon(icon("dot", "accent"))
        self.setToolTip(f"Changed. Click to go back to {default}.")
        self.setAccessibleName(f"Reset {name} to {default}")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        keep = self.sizePolicy()
        keep.setRetainSizeWhenHidden(True)  # else the row would jump when the dot comes
        self.setSizePolicy(keep)
        self.hide()


class FieldRow(QWidget):
    """Signals: `edited(path, value)` by the person, `reset_asked(path)`, `fix_asked(settings)`, `finished()` when the editor
    is left, `menu_asked(path, QPoint)` where on the screen its menu is to be."""

    edited = Signal(str, object)
    reset_asked, menu_asked = Signal(str), Signal(str, QPoint)
    fix_asked = Signal(object)
    finished = Signal()

    def __init__(self, section: str, spec: FieldSpec, label_width: int) -> None:
        super().__init__()
        self.spec = spec
        self.path = join_path(section, spec.name)
        self.sentence = ""
        self.waits = False
        self.editor = make_editor(spec)
        self.title = label(spec.title, "field", wrap=True)
        self.title.setFixedWidth(label_width)
        self.title.setBuddy(self.editor)
        self._explanation = " ".join(part for part in (spec.help, describe_range(spec)) if part)
        set_tooltip(self.title, "\n".join(filter(None, (self._explanation, self.path))))
        self._dot = ResetDot(spec.title, format_value(default_value(spec), spec))
        self._hint = Hint(self._explanation)
        self._hint.setAccessibleName(f"Explanation of {spec.title}")
        self.inactive = Inactive("")
        self.note = ""
        # Made when there is something to say: a page has a hundred rows, and few of them ever do.
        self._problem: QLabel | None = None
        self.inactive_label: QLabel | None = None
        self._fix: FixLink | None = None
        self.note_label: QLabel | None = None
        self._above: QWidget | None = None
        self._mark: QWidget | None = None
        self._way: QWidget | None = None
        self._beside: QHBoxLayout | None = None
        self._needs_line = bool(spec.path) or spec.classes  # paths are long, lists of classes high
        self._is_stacked = self._needs_line
        self._lay_out()
        self.editor.describe(spec.title, self._explanation)
        self.editor.edited.connect(self._on_edited)
        self.editor.finished.connect(self.finished)
        self._dot.clicked.connect(lambda: self.reset_asked.emit(self.path))
        for line in self.editor.findChildren(QLineEdit):
            leave_undo_to_page(line)

    def set_value(self, value: Any, changed: bool) -> None:
        """Show what the draft holds, and whether that differs from the default."""
        self.editor.set_value(value)
        self._dot.setVisible(changed and not self.spec.required)

    def set_problem(self, problem: Problem | None, *, waits: bool = False) -> None:
        """Say what is wrong under the editor; None when nothing is. What only ``waits`` for its first value is not marked as
        wrong."""
        sentence = ""
        if problem is not None:
            sentence = self.editor.problem() or problem_sentence(problem, self.spec, self.editor.value())
        self._set_fix(problem.fix if problem is not None else self.inactive.fix)
        if (sentence, waits) == (self.sentence, self.waits):
            return
        self.sentence, self.waits = sentence, waits
        asks = "" if sentence.startswith(_EMPTY) else sentence
        if self._problem is None:
            self._problem = label(wrap=True)
            self._place_parts()
        self._problem.setText(f"Required. {asks}".strip() if waits else sentence)
        set_role(self._problem, "help" if waits else "problem")
        self._problem.setVisible(bool(sentence))
        self.editor.set_invalid(bool(sentence) and not waits)
        self._enable()

    def set_inactive(self, inactive: Inactive) -> None:
        """Say why the setting does nothing as the others stand, offer what helps, and take no edit; ``Inactive("")`` when it does
        something."""
        if inactive == self.inactive:
            return
        self.inactive = inactive
        if self.inactive_label is None:
            self.inactive_label = label("", "help", wrap=True)
            self._place_parts()
        self.inactive_label.setText(inactive.why)
        self.inactive_label.setVisible(bool(inactive.why))
        if not self.sentence:
            self._set_fix(inactive.fix)
        self._enable()

    def set_note(self, note: str) -> None:
        """Say under the editor what the other settings make of this one; "" for nothing."""
        if note == self.note:
            return
        self.note = note
        if self.note_label is None:
            self.note_label = label("", "help", wrap=True)
            self._place_parts()
        self.note_label.setText(note)
        self.note_label.setVisible(bool(note))
        self._enable()

    def _set_fix(self, fix: Mapping[str, JsonValue]) -> None:
        if fix and self._fix is None:
            self._fix = FixLink()
            self._fix.fix_asked.connect(self.fix_asked)
            self._place_parts()
            self.setTabOrder(self._hint, self._fix)
        if self._fix is not None:
            self._fix.set_fix(fix)

    def _enable(self) -> None:
        """Whatever is wrong can be put right, also where it has no effect."""
        usable = bool(self.sentence) or not self.inactive.why
        for part in (self.title, self.editor, self._dot):
            part.setEnabled(usable)
        set_tooltip(self.editor, "" if usable else self.inactive.why)
        told = (self.sentence, self.inactive.why, self.note, self._explanation)
        self.editor.describe(self.spec.title, " ".join(part for part in told if part))

    def set_way(self, way: QWidget) -> None:
        """Show a button before the explanation, which leads to where the setting can be found."""
        self._way = way
        way.setAccessibleDescription(f"For {self.spec.title}")
        self._put_beside(way)

    def set_mark(self, mark: QWidget | None) -> None:
        """Show something small before the explanation, instead of what was there; None for nothing."""
        if self._mark is not None:
            self._mark.hide()
            self._mark.deleteLater()
        self._mark = mark
        if mark is not None:
            self._put_beside(mark)

    def _put_beside(self, part: QWidget) -> None:
        if self._beside is None:
            self._beside = hbox(spacing=0)
            middle = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
            self._grid.addLayout(self._beside, 0, 2, middle)
        self._beside.addWidget(part)

    @property
    def is_changed(self) -> bool:
        """Whether the mark of change is on."""
        return not self._dot.isHidden()

    def focus_widgets(self) -> list[QWidget]:
        """What Tab visits in this row, in order."""
        further = [part for part in (self._way, self._fix, self._mark) if part is not None]
        return [self.editor, self._hint, *further, self._dot]

    def _lay_out(self) -> None:
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._grid = grid = QGridLayout(self)
        grid.setContentsMargins(0, 3, 0, 3)
        grid.setHorizontalSpacing(SPACING.xs)
        grid.setVerticalSpacing(3)
        middle = Qt.AlignmentFlag.AlignVCenter
        grid.addWidget(self._dot, 0, 0, middle)
        grid.addWidget(self.title, 0, 1, middle)
        grid.addWidget(self._hint, 0, 3, middle)
        self._place_parts()
        # The editors' column takes what it can, up to their greatest width; the rest stays free.
        grid.setColumnStretch(2, 1000)
        grid.setColumnStretch(4, 1)

    def _place_parts(self) -> None:
        """The editor beside the title, or on a line of its own below it; what is told of it, below the editor."""
        column = 1 if self._is_stacked else 2
        middle = Qt.AlignmentFlag.AlignVCenter
        if self._is_stacked:
            self._grid.addWidget(self.editor, 1, 1, 1, 4)
            if self._above is None:  # as wide as an editor, so that the hints of all rows stand below each other
                self._above = QWidget()
                self._above.setMaximumSize(EDITOR_WIDTH, 1)
                self._grid.addWidget(self._above, 0, 2, middle)
        else:
            self._grid.addWidget(self.editor, 0, 2, middle)
        if self._above is not None:
            self._above.setVisible(self._is_stacked)
        told = (self._problem, self.inactive_label, self._fix, self.note_label)
        for line, part in enumerate(told, start=2):
            if part is not None:
                left = Qt.AlignmentFlag.AlignLeft if part is self._fix else Qt.AlignmentFlag(0)
                self._grid.addWidget(part, line, column, 1, 5 - column, left)

    def width_beside(self) -> int:
        """Pixels that the row needs for its editor to stand beside its title."""
        gap, hint = self._grid.horizontalSpacing(), self._hint.sizeHint().width()
        return TITLE_INDENT + self.title.minimumWidth() + gap + self._editor_width() + gap + hint

    def minimumSizeHint(self) -> QSize:
        """With the editor below its title."""
        above = self.title.minimumWidth() + self._grid.horizontalSpacing() + self._hint.sizeHint().width()
        return QSize(TITLE_INDENT + max(above, self._editor_width()), super().minimumSizeHint().height())

    def _editor_width(self) -> int:
        return max(self.editor.minimumSizeHint().width(), self.editor.minimumWidth())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        stacked = self._needs_line or event.size().width() < self.width_beside()
        if stacked != self._is_stacked:
            self._is_stacked = stacked
            self._place_parts()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_asked.emit(self.path, event.globalPos())

    def _on_edited(self) -> None:
        self.edited.emit(self.path, self.editor.value())
