"""Crash reports as the person meets them: shown when they happen, offered again when nobody looked."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from studio.actions.files import reveal
from studio.services.crash import NATIVE, Crash, CrashReports, read_report
from studio.services.hiding import hide_places
from studio.widgets import Banner
from studio.window.dialogs import ReportDialog
from studio.window.start_notices import StartNotices

_NOW = "An unexpected error was caught. Training is not affected. Please copy this report when you tell us about it."
_THEN = "This was kept when it happened. Please copy it when you tell us about it."


class CrashNotices(QObject):
    """One dialog at a time; a report counts as read when its dialog was closed or its notice put away."""

    def __init__(self, notices: StartNotices, window: QWidget) -> None:
        super().__init__(window)
        self._notices = notices
        self._window = window
        self._reports: CrashReports | None = None
        self._open = False
        self._waiting: list[Crash] = []

    @Slot(object)
    def show(self, crash: Crash) -> None:
        """An error nobody caught, just now."""
        self._waiting.append(crash)
        self._show_next()

    def offer_unread(self, reports: CrashReports) -> None:
        """Remind of what was not looked at, this program's own end included."""
        self._reports = reports
        unread = reports.unread()
        if not unread:
            return
        native = any(read_report(path).startswith(NATIVE) for path in unread)
        title = "The program crashed last time" if native else "An error of last time was not looked at"
        count = "A report was" if len(unread) == 1 else f"{len(unread)} reports were"
        banner = Banner("warning", title, f"{count} kept. Runs in progress were not affected.")
        banner.add_action("Open folder", lambda: reveal(reports.folder))
        banner.add_action("Show report", lambda: self._show_unread(banner, unread), variant="primary")
        banner.closed.connect(lambda: self._put_away(unread))
        self._notices.add(banner)

    def _show_unread(self, banner: Banner, paths: list[Path]) -> None:
        text = f"\n\n{'─' * 60}\n\n".join(hide_places(read_report(path)) for path in paths)
        folder = self._reports.folder if self._reports else None
        dialog = ReportDialog("Crash report", _THEN, text, folder, self._window)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
        self._put_away(paths)
        banner.hide()
        self._notices.fold()

    def _put_away(self, paths: list[Path]) -> None:
        for path in paths:
            if self._reports is not None:
                self._reports.mark_read(path)

    def _show_next(self) -> None:
        if self._open or not self._waiting:
            return
        crash = self._waiting.pop(0)
        self._open = True
        folder = crash.path.parent if crash.path else None
        dialog = ReportDialog("Something went wrong", _NOW, hide_places(crash.text), folder, self._window)
        dialog.finished.connect(lambda: self._on_closed(dialog, crash))
        dialog.open()

    def _on_closed(self, dialog: ReportDialog, crash: Crash) -> None:
        self._open = False
        dialog.deleteLater()
        if not self._window.isVisible():
            return  # the program ends and takes its dialogs along: that is no look
        self._put_away([crash.path] if crash.path else [])
        self._show_next()
