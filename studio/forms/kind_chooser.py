"""The choice at the top of a section: what kind of dataset, model, optimizer, ..."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QWidget

from studio.forms.field_row import ResetDot
from studio.forms.fix_link import FixLink
from studio.forms.messages import KIND_TITLES, kind_sentence
from studio.state.drafts.setting_specs import default_kind
from studio.theme import SPACING, set_invalid
from studio.widgets import ComboBox, label
from training import catalog
from training.errors import Problem


class KindChooser(QWidget):
    """A list of titles from the catalog with the chosen one's summary below.

    Signals: `chosen(section, kind)` by the person, `reset_asked(path)`, `fix_asked(settings)`.
    """

    chosen = Signal(str, str)
    reset_asked = Signal(str)
    fix_asked = Signal(object)

    def __init__(self, section: str, label_width: int) -> None:
        super().__init__()
        self.path = f"{section}.kind"
        self.sentence = ""
        self._section = section
        self._entries = catalog.entries(section)
        self.combo = ComboBox()
        for entry in self._entries:
            self.combo.addItem(entry.title, entry.kind)
            self.combo.setItemData(self.combo.count() - 1, entry.summary, Qt.ItemDataRole.ToolTipRole)
        self.combo.setMinimumWidth(200)
        self.combo.setAccessibleName(KIND_TITLES[section])
        self.title = label(KIND_TITLES[section], "field")
        self.title.setToolTip(self.path)
        self.title.setFixedWidth(label_width)
        self.title.setBuddy(self.combo)
        default = catalog.entry(section, default_kind(section)).title
        self._dot = ResetDot(KIND_TITLES[section], default)
        self._summary = label("", "help", wrap=True)
        self._problem = label("", "problem", wrap=True)
        self._problem.hide()
        self._fix = FixLink()
        self._fix.fix_asked.connect(self.fix_asked)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 3, 0, 5)
        grid.setHorizontalSpacing(SPACING.xs)
        grid.setVerticalSpacing(3)
        grid.addWidget(self._dot, 0, 0)
        grid.addWidget(self.title, 0, 1)
        grid.addWidget(self.combo, 0, 2, Qt.AlignmentFlag.AlignLeft)
        grid.addWidget(self._problem, 1, 2)
        grid.addWidget(self._fix, 2, 2, Qt.AlignmentFlag.AlignLeft)
        grid.addWidget(self._summary, 3, 2)
        grid.setColumnStretch(2, 1)
        self.combo.activated.connect(self._on_activated)
        self._dot.clicked.connect(lambda: self.reset_asked.emit(self.path))

    def set_kind(self, kind: str) -> None:
        """Show what the draft holds."""
        entry = catalog.entry(self._section, kind)
        self.combo.setCurrentIndex(self._entries.index(entry))
        self.combo.setAccessibleDescription(entry.summary)
        self._summary.setText(entry.summary)
        self._dot.setVisible(kind != default_kind(self._section))

    def set_problem(self, problem: Problem | None) -> None:
        """Say what is wrong with the choice; None when nothing is."""
        self.sentence = kind_sentence(self._section, problem.message) if problem else ""
        self._problem.setText(self.sentence)
        self._problem.setVisible(bool(self.sentence))
        self._fix.set_fix(problem.fix if problem else {})
        set_invalid(self.combo, bool(self.sentence))

    def focus_widgets(self) -> list[QWidget]:
        """What Tab visits here, in order."""
        return [self.combo, self._fix, self._dot]

    def _on_activated(self, index: int) -> None:
        self.chosen.emit(self._section, self._entries[index].kind)
