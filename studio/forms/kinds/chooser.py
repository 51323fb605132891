"""The row at the top of a section that shows what was chosen there: in a list, or as a card that opens a panel of cards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from studio.forms.field_row import ResetDot
from studio.forms.fix_link import FixLink
from studio.forms.kinds.card import KindCard
from studio.forms.kinds.choices import WITH_CARDS, KindGroup, find_groups, show_as_choice
from studio.forms.kinds.panel import KindPanel
from studio.forms.messages import KIND_TITLES, kind_sentence
from studio.state.drafts.draft import Draft
from studio.state.drafts.setting_specs import default_kind
from studio.theme import SPACING, set_invalid
from studio.widgets import STRETCH, ComboBox, hand_keyboard_on, label, vbox
from training import catalog
from training.errors import Problem


class KindChooser(QWidget):
    """``control`` shows the choice; the row says what is wrong with it, and the way back to the default.

    Signals: `chosen(section, kind)` by the person, `reset_asked(path)`, `fix_asked(settings)`, `menu_asked(path, QPoint)` where on the
    screen its menu is to be.
    """

    chosen = Signal(str, str)
    reset_asked, menu_asked = Signal(str), Signal(str, QPoint)
    fix_asked = Signal(object)

    def __init__(self, section: str, label_width: int, control: QWidget) -> None:
        super().__init__()
        self.path = f"{section}.kind"
        self.sentence = ""
        self.section = section
        self._control = control
        self._mark: QWidget | None = None
        hand_keyboard_on(self, control)
        self.title = label(KIND_TITLES[section], "field")
        self.title.setToolTip(self.path)
        self.title.setFixedWidth(label_width)
        self.title.setBuddy(control)
        default = catalog.entry(section, default_kind(section)).title
        self._dot = ResetDot(KIND_TITLES[section], default)
        self._problem = label("", "problem", wrap=True)
        self._problem.hide()
        self._fix = FixLink()
        self._fix.fix_asked.connect(self.fix_asked)
        self._grid = grid = QGridLayout(self)
        grid.setContentsMargins(0, 3, 0, 5)
        grid.setHorizontalSpacing(SPACING.xs)
        grid.setVerticalSpacing(3)
        grid.addWidget(self._dot, 0, 0)
        grid.addWidget(self.title, 0, 1)
        grid.addWidget(self._problem, 1, 2)
        grid.addWidget(self._fix, 2, 2, Qt.AlignmentFlag.AlignLeft)
        grid.setColumnStretch(2, 1)
        self._dot.clicked.connect(lambda: self.reset_asked.emit(self.path))

    def set_kind(self, kind: str) -> None:
        """Show what the draft holds."""
        self._dot.setVisible(kind != default_kind(self.section))

    def set_problem(self, problem: Problem | None) -> None:
        """Say what is wrong with the choice; None when nothing is."""
        self.sentence = kind_sentence(self.section, problem.message) if problem else ""
        self._problem.setText(self.sentence)
        self._problem.setVisible(bool(self.sentence))
        self._fix.set_fix(problem.fix if problem else {})
        set_invalid(self._control, bool(self.sentence))

    def set_mark(self, mark: QWidget | None) -> None:
        """Show something small at the row's end, instead of what was there; None for nothing."""
        if self._mark is not None:
            self._grid.removeWidget(self._mark)
            self._mark.deleteLater()
        self._mark = mark
        if mark is not None:
            self._grid.addWidget(mark, 0, 3, Qt.AlignmentFlag.AlignTop)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_asked.emit(self.path, event.globalPos())

    def focus_widgets(self) -> list[QWidget]:
        """What Tab visits here, in order."""
        return [self, self._fix, *([self._mark] if self._mark is not None else []), self._dot]


class ListChooser(KindChooser):
    """A list of titles from the catalog with the chosen one's summary below."""

    def __init__(self, section: str, label_width: int) -> None:
        self.combo = ComboBox()
        super().__init__(section, label_width, self.combo)
        self._entries = catalog.entries(section)
        for entry in self._entries:
            self.combo.addItem(entry.title, entry.kind)
            self.combo.setItemData(self.combo.count() - 1, entry.summary, Qt.ItemDataRole.ToolTipRole)
        self.combo.setMinimumWidth(200)
        self.combo.setAccessibleName(KIND_TITLES[section])
        self._summary = label("", "help", wrap=True)
        self._grid.addWidget(self.combo, 0, 2, Qt.AlignmentFlag.AlignLeft)
        self._grid.addWidget(self._summary, 3, 2)
        self.combo.activated.connect(lambda index: self.chosen.emit(section, self._entries[index].kind))

    def set_kind(self, kind: str) -> None:
        super().set_kind(kind)
        entry = catalog.entry(self.section, kind)
        self.combo.setCurrentIndex(self._entries.index(entry))
        self.combo.setAccessibleDescription(entry.summary)
        self._summary.setText(entry.summary)


class CardChooser(KindChooser):
    """The chosen one as a card; a click opens a panel with all of them. ``find_groups`` tells what there is to choose at that
    moment, and why some of it does not fit."""

    def __init__(self, section: str, label_width: int, find_groups: Callable[[], Sequence[KindGroup]]) -> None:
        self.card = KindCard("Change…")
        super().__init__(section, label_width, self.card)
        self.panel: KindPanel | None = None
        self.count_classes: Callable[[], int | None] = lambda: None  # of the data, where they are known
        self.list_lacking: Callable[[], Mapping[str, str]] = (
            dict  # kinds that the engine has no package for, with the reasons
        )
        self._find_groups = find_groups
        self._kind = ""
        self._grid.addLayout(vbox(SPACING.s - 1, self._dot, STRETCH), 0, 0)
        self._grid.addWidget(self.title, 0, 1, Qt.AlignmentFlag.AlignTop)
        self.title.setContentsMargins(0, SPACING.s, 0, 0)
        self._grid.addWidget(self.card, 0, 2)
        self.card.clicked.connect(self.open_panel)
        self.card.arrow_pressed.connect(self._on_arrow_pressed)

    def set_kind(self, kind: str) -> None:
        super().set_kind(kind)
        self._kind = kind
        choice = show_as_choice(catalog.entry(self.section, kind))
        self.card.set_choice(choice)
        self.card.setAccessibleName(f"{KIND_TITLES[self.section]}: {choice.title}. Change…")

    def open_panel(self) -> None:
        """Show what there is to choose, beside the card."""
        panel = self.panel = KindPanel(self, KIND_TITLES[self.section], self._find_groups(), self._kind)
        panel.chosen.connect(self._on_chosen)
        panel.destroyed.connect(lambda: self._forget(panel))
        panel.open_beside(self.card)

    def close_panel(self) -> None:
        """What it offers goes by a draft that is another one now."""
        if self.panel is not None:
            self.panel.close()

    def _forget(self, panel: KindPanel) -> None:
        if self.panel is panel:
            self.panel = None

    def _on_chosen(self, kind: str) -> None:
        self.card.setFocus()
        if kind != self._kind:
            self.chosen.emit(self.section, kind)

    def _on_arrow_pressed(self, key: Qt.Key) -> None:
        if key == Qt.Key.Key_Down:
            self.open_panel()


def make_chooser(draft: Draft, section: str, label_width: int) -> KindChooser:
    """The row for ``section``, which writes into ``draft``."""
    made: KindChooser

    def find() -> list[KindGroup]:
        return find_groups(draft, section, cards.count_classes(), cards.list_lacking())

    if section in WITH_CARDS:
        made = cards = CardChooser(section, label_width, find)
        draft.replaced.connect(cards.close_panel)
    else:
        made = ListChooser(section, label_width)
    made.chosen.connect(draft.set_kind)
    made.reset_asked.connect(draft.reset)
    made.fix_asked.connect(draft.apply)
    return made
