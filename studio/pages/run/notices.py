"""What there is to say of a run: in a line beside the tabs, and in full over what lies below, which keeps its place."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Slot
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QFrame, QWidget

from studio.pages.run.findings import FindingList
from studio.panels.outcome_banner import OutcomeBanner
from studio.theme import SPACING, set_property, set_role
from studio.widgets import STRETCH, ElidedLabel, IconLabel, button, hbox, in_widget, scroll_area, vbox
from studio.widgets.messages import TONE_ICONS
from training.errors import pluralize

_SHARE = 0.75  # of the page below the tabs, that the messages cover at most


class NoticeStrip(QWidget):
    """One line: the end of the run, or else the worst finding, and a button that opens all of them over ``below``."""

    def __init__(self, outcome: OutcomeBanner, findings: FindingList) -> None:
        super().__init__()
        self._outcome, self._findings = outcome, findings
        self._icon = IconLabel("info", 16)
        self._text = ElidedLabel("", Qt.TextElideMode.ElideRight)
        set_role(self._text, "body")
        self._text.setMinimumWidth(1)  # the button that opens it comes first
        self.details = button("Details", variant="ghost", tooltip="Show what was found, and what can be done")
        self.details.setCheckable(True)
        policy = self.details.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # what lies below keeps its place when there is something to say
        self.details.setSizePolicy(policy)
        hbox(STRETCH, self._icon, (self._text, 0), self.details, parent=self, spacing=SPACING.xs)
        self.panel = QFrame()
        set_property(self.panel, "notices", True)
        self._content = in_widget(vbox(outcome, findings, STRETCH, spacing=SPACING.s, margins=SPACING.m))
        self._area = scroll_area(self._content, "Notices of the run")
        vbox((self._area, 1), parent=self.panel, spacing=0)
        self.panel.hide()
        self._below: QWidget | None = None
        self.details.toggled.connect(self._on_toggled)
        findings.changed.connect(self.refresh)
        outcome.changed.connect(self.refresh)
        self.refresh()

    def lie_over(self, below: QWidget) -> None:
        """Show the messages over the upper part of ``below``."""
        self._below = below
        self.panel.setParent(below)
        self.panel.hide()
        below.installEventFilter(self)
        self._content.installEventFilter(self)
        escape = QShortcut(QKeySequence(Qt.Key.Key_Escape), self.panel)
        escape.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        escape.activated.connect(lambda: self.details.setChecked(False))

    def open(self) -> None:
        """Show all that there is to say."""
        self.details.setChecked(True)

    def text(self) -> str:
        """What the line says."""
        return self._text.text() if not self._text.isHidden() else ""

    @Slot()
    def refresh(self) -> None:
        """Say what there is to say now."""
        said = self._outcome.said or self._findings.said
        for part in (self._icon, self._text, self.details):
            part.setVisible(said is not None)
        if said is None:
            self.details.setChecked(False)
            return
        tone, title, text = said
        self._icon.set_icon(*TONE_ICONS[tone])
        self._text.setText(f"{title.removesuffix('.')}. {text.partition(chr(10))[0]}".strip() if text else title)
        count = self._findings.count + (self._outcome.said is not None)
        self.details.setText("Details" if count < 2 else f"All {count}")
        self.details.setAccessibleName(f"Show {pluralize(max(count, 1), 'message')} about this run")
        self._place()

    @Slot(bool)
    def _on_toggled(self, on: bool) -> None:
        self.panel.setVisible(on)
        if on:
            self._place()
            self.panel.raise_()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            QTimer.singleShot(0, self, self._place)
        elif event.type() == QEvent.Type.ChildAdded and watched is self._below:
            self.panel.raise_()  # a tab that was built just now
        return False

    @Slot()
    def _place(self) -> None:
        if self._below is None or self.panel.isHidden():
            return
        width = max(self._below.width() - 2 * SPACING.l, 0)
        layout = self._content.layout()
        assert layout is not None
        needed = layout.totalHeightForWidth(width) if layout.hasHeightForWidth() else layout.totalSizeHint().height()
        height = min(needed + 2, round(self._below.height() * _SHARE))
        self.panel.setGeometry(SPACING.l, SPACING.s, width, height)
        self.panel.raise_()
