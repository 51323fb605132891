"""The QApplication, and nothing that takes time to import."""

from __future__ import annotations

import locale
from collections.abc import Callable
from pathlib import Path

import PySide6
from PySide6.QtCore import QCoreApplication, QEvent, QLibraryInfo, Signal
from PySide6.QtGui import QFileOpenEvent, QIcon
from PySide6.QtWidgets import QApplication

from studio import identity
from studio.services.app_settings import TEXT_SIZES, AppSettings
from studio.theme import Mode


class StudioApplication(QApplication):
    """Signals: `file_opened(str)`: opened in the Finder of macOS, which tells of it by an event. `quit_asked()`: by the desktop, of a window that has
    something to end first."""

    file_opened, quit_asked = Signal(str), Signal()
    can_quit: Callable[[], bool] = staticmethod(lambda: True)
    _early: (
        tuple[str, ...] | None
    ) = ()  # opened before anybody listened: the event comes before the window is furnished

    def listen(self, slot: Callable[[str], object]) -> None:
        """Tell ``slot`` of each file, and now of those that were opened before."""
        early, self._early = self._early or (), None
        self.file_opened.connect(slot)
        for file in early:
            slot(file)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QFileOpenEvent):
            if self._early is not None:
                self._early = (*self._early, event.file())
            self.file_opened.emit(event.file())
            return True
        if event.type() is QEvent.Type.Quit and not self.can_quit():
            event.ignore()
            self.quit_asked.emit()
            return True
        return super().event(event)


def find_plugins() -> None:
    """Name Qt's own plugins where it looks for them elsewhere: PySide6 says its folder in the words of a settings file, where a comma, a
    semicolon, a quotation mark or a backslash ends it. Without them Qt aborts."""
    if Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.PluginsPath)).is_dir():
        return
    for folder in (Path(PySide6.__file__).parent / name for name in ("Qt/plugins", "plugins")):
        if folder.is_dir():
            QCoreApplication.addLibraryPath(str(folder))


def make_application() -> QApplication:
    """The QApplication under the program's own name, with C numbers whatever the system's language is."""
    existing = QCoreApplication.instance()
    if isinstance(existing, QApplication):
        return existing
    find_plugins()
    # Qt's own style under the style sheet, on every system; setStyle() would return a QStyle, and making that class with
    # its six hundred names for Python is a thirtieth of the time to the first paint.
    app = StudioApplication([identity.APP_ID, "-style", "Fusion"])
    # QApplication takes the system's locale over into C, where a decimal comma breaks libraries that parse numbers.
    locale.setlocale(locale.LC_NUMERIC, "C")
    app.setApplicationName(identity.APP_NAME)
    app.setApplicationDisplayName(identity.APP_NAME)
    app.setOrganizationName(identity.ORGANIZATION)
    app.setApplicationVersion(identity.VERSION)
    app.setDesktopFileName(identity.APP_ID)
    app.setWindowIcon(QIcon(str(identity.APP_ICON)))
    app.setQuitOnLastWindowClosed(False)  # the window says when nothing holds the process any more
    return app


def text_scale(settings: AppSettings) -> float:
    """The preference as a factor of the designed size; a size that nobody is offered is brought among those that are."""
    return min(max(settings.text_size, TEXT_SIZES[0]), TEXT_SIZES[-1]) / 100


def theme_mode(settings: AppSettings) -> Mode:
    """The preference as the theme knows it."""
    return settings.theme if settings.theme in ("light", "dark") else "system"  # type: ignore[return-value]
