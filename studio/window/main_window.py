"""The main window: a rail, a stack of pages, a status strip. A shell; what is shown is the pages' business.

Two steps: made and painted with next to nothing imported, then furnished with what the program is about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QEvent, QTimer, Signal, Slot
from PySide6.QtGui import QCloseEvent, QHideEvent, QIcon, QPaintEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QMainWindow, QStackedWidget, QToolButton, QVBoxLayout, QWidget

from studio import identity
from studio.services.settings import SettingsStore
from studio.widgets import NavigationRail, Segmented, icon_button, separator
from studio.window.navigation import PAGES
from studio.window.outline import PageOutline
from studio.window.status_strip import StatusStrip

if TYPE_CHECKING:
    from studio.state.context import AppContext
    from studio.window.conduct import Conduct

_ON_SCREEN = 16  # milliseconds from the first drawing until the screen shows it


class MainWindow(QMainWindow):
    """Signals:
    painted(): once, when the first frame is on the screen.
    shown_changed(bool): minimised or hidden, or no longer.
    closed(): nothing holds the process any more.
    """

    painted = Signal()
    shown_changed = Signal(bool)
    closed = Signal()

    def __init__(self, settings: SettingsStore) -> None:
        super().__init__()
        self._settings = settings
        self._conduct: Conduct | None = None
        self._pages: dict[str, QWidget] = {}
        self._was_painted = False
        self.rail = NavigationRail()
        self.stack = QStackedWidget()
        self.status = StatusStrip()
        self._lay_out()
        self.rail.current_changed.connect(self.show_page)
        settings.changed.connect(lambda changed: self.theme_choice.set_current(changed.theme))
        self.theme_choice.current_changed.connect(lambda mode: settings.update(theme=mode))
        self.setMinimumSize(900, 600)
        self._restore_size()
        self.setWindowTitle(identity.APP_NAME)

    @property
    def conduct(self) -> Conduct:
        """What the window does; there is none before ``furnish``."""
        assert self._conduct is not None, "the window was not furnished yet"
        return self._conduct

    def _lay_out(self) -> None:
        self.rail.set_header(QIcon(str(identity.APP_ICON)).pixmap(28, 28), identity.APP_NAME)
        for entry in PAGES:
            self.rail.add_item(entry.key, entry.icon, entry.title, tooltip=entry.tooltip)
        page = self._settings.get().page
        self.rail.set_current(page if page in self.rail.keys() else "setup")  # noqa: SIM118 - not a dict
        self.theme_choice = Segmented()
        for key, picture, name in (
            ("system", "system", "Follow the system"),
            ("light", "sun", "Light"),
            ("dark", "moon", "Dark"),
        ):
            self.theme_choice.add_option(key, "", picture, name)
        self.theme_choice.setAccessibleName("Appearance")
        self.theme_choice.set_current(self._settings.get().theme)
        self.menu_button = icon_button("menu", "All commands")
        self.menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        foot = QWidget()
        foot_row = QHBoxLayout(foot)
        foot_row.setContentsMargins(0, 0, 0, 0)
        foot_row.addWidget(self.theme_choice)
        foot_row.addStretch(1)
        foot_row.addWidget(self.menu_button)
        self.rail.add_footer(foot)
        self._outline = PageOutline()
        self.stack.addWidget(self._outline)
        right = QWidget()
        self._column = QVBoxLayout(right)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self._column.addWidget(self.stack, 1)
        self._column.addWidget(separator())
        self._column.addWidget(self.status)
        center = QWidget()
        row = QHBoxLayout(center)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.rail)
        row.addWidget(right, 1)
        self.setCentralWidget(center)

    def _restore_size(self) -> None:
        geometry = self._settings.get().geometry
        if not geometry or not self.restoreGeometry(QByteArray.fromBase64(geometry.encode())):
            self.resize(1280, 800)

    def furnish(self, context: AppContext) -> None:
        """Bring the window to life, with the page that was chosen by now; others are built when they are first shown."""
        from studio.window.conduct import Conduct

        self._conduct = conduct = Conduct(context, self, self.rail)
        self._column.insertWidget(0, conduct.notices)
        self.menu_button.setMenu(conduct.actions.menu(self.menu_button))
        self.status.follow(context)
        context.page_requested.connect(self.show_page)
        self.shown_changed.connect(context.live.set_window_shown)
        conduct.closing.ready.connect(self._on_ready_to_close)
        self.show_page(self.rail.current())

    # ---------------------------------------------------------------------------------------------- pages

    @Slot(str)
    def show_page(self, key: str) -> None:
        """Bring a page to the front, building it at the first time; before ``furnish`` only the choice is kept."""
        if self._conduct is not None:
            self.build_page(key)
        self.stack.setCurrentWidget(self._pages.get(key, self._outline))
        self.rail.set_current(key)
        self._settings.update(page=key)

    def build_page(self, key: str) -> None:
        """Have a page ready without showing it."""
        if key not in self._pages:
            entry = next(entry for entry in PAGES if entry.key == key)
            self._pages[key] = entry.make(self.conduct.context)
            self.stack.addWidget(self._pages[key])

    def page(self, key: str) -> QWidget:
        """A page, built if need be."""
        self.show_page(key)
        return self._pages[key]

    # --------------------------------------------------------------------------------------------- events

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.WindowStateChange:
            self._tell_shown()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._tell_shown()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._tell_shown()

    def _tell_shown(self) -> None:
        self.shown_changed.emit(self.isVisible() and not self.isMinimized())

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._was_painted:
            self._was_painted = True
            QTimer.singleShot(_ON_SCREEN, self, self.painted.emit)

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._conduct is not None:
            self._conduct.answer_close(event)
            return
        event.accept()
        self.closed.emit()

    @Slot()
    def _on_ready_to_close(self) -> None:
        self.close()
        self.closed.emit()
