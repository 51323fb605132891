"""The main window: a rail, a stack of pages, a status strip. A shell; what is shown is the pages' business.

Two steps: made and painted with next to nothing imported, then furnished with what the program is about.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QEvent, QRectF, QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QCloseEvent,
    QColor,
    QGuiApplication,
    QHideEvent,
    QIcon,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QApplication, QBoxLayout, QMainWindow, QStackedWidget, QToolButton, QWidget

from studio import identity
from studio.services.settings import SettingsStore
from studio.theme import RADIUS, SPACING, dress_at_end, theme
from studio.widgets import STRETCH, NavigationRail, Segmented, hbox, icon_button, in_widget, separator, vbox
from studio.window.page_entries import PAGES, Tabbed
from studio.window.status_strip import StatusStrip

if TYPE_CHECKING:
    from pathlib import Path

    from studio.state.context import AppContext
    from studio.window.controller import MainController

_NARROW = 1100  # pixels, for text of the designed size: in a window of less, the words of the rail would cost the forms or their preview
_SIZE = QSize(1280, 800)
_FRAME = QSize(16, 48)  # what the desktop draws around a window, at the most
_ON_SCREEN = 16  # milliseconds from the first drawing until the screen shows it


class MainWindow(QMainWindow):
    """Signals:
    painted(): once, when the first frame is on the screen.
    shown_changed(bool): minimized or hidden, or no longer.
    closed(): nothing holds the process any more.
    """

    painted = Signal()
    shown_changed = Signal(bool)
    closed = Signal()

    def __init__(self, settings: SettingsStore) -> None:
        super().__init__()
        self._settings = settings
        self._controller: MainController | None = None
        self._pages: dict[str, QWidget] = {}
        self._was_painted = False
        self.is_restart_asked = False
        self.rail = NavigationRail()
        self.stack = QStackedWidget()
        self.status = StatusStrip()
        self._lay_out()
        self.rail.current_changed.connect(self.show_page)
        self.rail.fold_asked.connect(self.toggle_rail)
        settings.changed.connect(lambda changed: self.theme_choice.set_current(changed.theme))
        theme().changed.connect(self._fold_rail)  # text of another size needs another width
        self.theme_choice.current_changed.connect(lambda mode: settings.update(theme=mode))
        self.setMinimumSize(900, 600)
        self._restore_size()
        self.setWindowTitle(identity.APP_NAME)

    @property
    def controller(self) -> MainController:
        """What the window does; there is none before ``furnish``."""
        assert self._controller is not None, "the window was not furnished yet"
        return self._controller

    def _lay_out(self) -> None:
        self.rail.set_header(QIcon(str(identity.APP_ICON)).pixmap(28, 28), identity.APP_NAME)
        for number, entry in enumerate(PAGES, start=1):
            self.rail.add_item(entry.key, entry.icon, entry.title, tooltip=f"{entry.tooltip} (Ctrl+{number})")
        page = self._settings.get().page
        self.rail.set_current(page if page in self.rail.keys() else "setup")  # noqa: SIM118 - not a dict
        self.theme_choice = Segmented()
        for key, image, name in (
            ("system", "system", "Follow the system"),
            ("light", "sun", "Light"),
            ("dark", "moon", "Dark"),
        ):
            self.theme_choice.add_option(key, "", image, name)
        self.theme_choice.setAccessibleName("Appearance")
        self.theme_choice.set_current(self._settings.get().theme)
        self.menu_button = icon_button("menu", "All commands")
        self.menu_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._footer = hbox(self.theme_choice, STRETCH, self.menu_button)
        self.rail.add_footer(in_widget(self._footer))
        self._outline = PageOutline()
        self.stack.addWidget(self._outline)
        right = QWidget()
        foot = QWidget()
        self.rail.set_foot(foot)
        self._column = vbox((self.stack, 1), foot, separator(), self.status, parent=right, spacing=0)
        center = in_widget(hbox(self.rail, (right, 1), spacing=0))
        self.setCentralWidget(center)

    def _restore_size(self) -> None:
        geometry = self._settings.get().geometry
        if geometry and self.restoreGeometry(QByteArray.fromBase64(geometry.encode())):
            return  # onto the screen where it was left, or within another one where that is gone
        # There is none yet, or Qt refuses it, which was of a screen much wider or narrower than this one.
        self.resize(_SIZE.boundedTo(QGuiApplication.primaryScreen().availableSize() - _FRAME))
        if self._settings.get().maximized:
            self.setWindowState(Qt.WindowState.WindowMaximized)

    @Slot()
    def _fold_rail(self) -> None:
        """As the person chose; where they did not, the words are there in a window that has room for them."""
        chosen = self._settings.get().rail
        folded = chosen == "folded" or (chosen != "open" and self._is_narrow())
        direction = QBoxLayout.Direction.TopToBottom if folded else QBoxLayout.Direction.LeftToRight
        self._footer.setDirection(direction)
        self.theme_choice.set_direction(direction)
        if folded != self.rail.folded:
            self.rail.set_folded(folded)

    def _is_narrow(self) -> bool:
        return self.width() < _NARROW * max(theme().font_scale, 1.0)

    @Slot()
    def toggle_rail(self) -> None:
        """Fold the rail to its icons, or unfold it; a choice that says what the width says lets the width choose again."""
        folded = not self.rail.folded
        by_width = self._is_narrow()
        self._settings.update(rail="auto" if folded == by_width else "folded" if folded else "open")
        self._fold_rail()

    def furnish(self, context: AppContext) -> None:
        """Bring the window to life, with the page that was chosen by now; others are built when they are first shown."""
        from studio.window.controller import MainController
        from studio.window.drop_overlay import DropOverlay

        self._controller = controller = MainController(context, self, self.rail, self.help_topic)
        self._drops = DropOverlay(self, context, self._take_dropped, self._find_front)
        self._column.insertWidget(0, controller.notices)
        self.menu_button.setMenu(controller.actions.menu(self.menu_button))
        self.status.follow(context)
        context.page_requested.connect(self.show_page)
        self.shown_changed.connect(context.shown.set_window_shown)
        self.shown_changed.connect(context.queue.set_window_shown)
        controller.closing.ready.connect(self._on_ready_to_close)
        self.show_page(self.rail.current())

    # ---------------------------------------------------------------------------------------------- pages

    @Slot(str)
    def show_page(self, place: str) -> None:
        """Bring a page to the front, or a tab of it ("run/evaluate"), building it at the first time; before ``furnish`` only the choice
        is kept."""
        key, _, tab = place.partition("/")
        if self._controller is not None:
            page = self.build_page(key)
            if tab and isinstance(page, Tabbed):
                page.show_tab(tab)
        self.stack.setCurrentWidget(self._pages.get(key, self._outline))
        self.rail.set_current(key)
        self._settings.update(page=key)

    def build_page(self, key: str) -> QWidget:
        """Have a page ready without showing it."""
        if key not in self._pages:
            entry = next(entry for entry in PAGES if entry.key == key)
            first = not self._pages  # others stand beside later ones, and would be dressed again, too
            with dress_at_end(QApplication.instance()) if first else nullcontext():
                self._pages[key] = entry.make(self.controller.context)
                self.stack.addWidget(self._pages[key])
        return self._pages[key]

    def page(self, place: str) -> QWidget:
        """A page or a tab of it, shown."""
        self.show_page(place)
        page = self._pages[place.partition("/")[0]]
        return page.front() if "/" in place and isinstance(page, Tabbed) else page

    def _find_front(self) -> QWidget | None:
        page = self.stack.currentWidget()
        return page.front() if isinstance(page, Tabbed) else page

    def help_topic(self) -> str:
        """The page of the help that tells of what is in front."""
        page = self.stack.currentWidget()
        if isinstance(page, Tabbed):
            return page.help_topic()
        return next(entry.help for entry in PAGES if entry.key == self.rail.current())

    def _take_dropped(self, kind: str, place: Path, settings: Mapping[str, str | None]) -> None:
        from studio.pages.setup.page import SetupPage

        page = self.page("setup")
        assert isinstance(page, SetupPage)
        page.other_data.take(kind, place, settings)

    # --------------------------------------------------------------------------------------------- events

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.WindowStateChange:
            self._tell_shown()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._tell_shown()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fold_rail()

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
        if self._controller is not None:
            self._controller.answer_close(event)
            return
        event.accept()
        self.closed.emit()

    def restart(self) -> None:
        """Close, and have the program started again once all has ended."""
        self.is_restart_asked = True
        self.controller.quit()

    @Slot()
    def _on_ready_to_close(self) -> None:
        self.close()
        self.closed.emit()


_HEADER = 88  # pixels: the name of the run and the tabs, as on the Setup page
_FOOT = 57  # the bar with the Start button


class PageOutline(QWidget):
    """Painted by hand: it has to be there before anything worth building is imported."""

    def paintEvent(self, event: QPaintEvent) -> None:
        palette = theme().palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        line = QPen(QColor(palette.border))
        painter.setPen(line)
        painter.drawLine(0, _HEADER, self.width(), _HEADER)
        painter.setBrush(QColor(palette.surface))
        edge, gap = SPACING.l, SPACING.m
        top = _HEADER + edge + 0.5
        half = (self.width() - 2 * edge - gap) * 0.48
        height = self.height() - top - _FOOT - edge
        for left, width, share in ((edge, half, 0.75), (edge + half + gap, self.width() - 2 * edge - gap - half, 0.3)):
            painter.drawRoundedRect(QRectF(left + 0.5, top, width - 1, height * share), RADIUS.large, RADIUS.large)
        painter.drawRect(QRectF(-1, self.height() - _FOOT + 0.5, self.width() + 2, _FOOT + 1))
