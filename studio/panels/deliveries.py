"""What trackers have of a run, and what waits: a line for each below the run's head."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, QTimer, QUrl, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget

from studio.actions.files import reveal
from studio.engine.side_command import Answer, SideCommand
from studio.state.context import AppContext
from studio.theme import SPACING, set_role
from studio.widgets import ElidedLabel, IconLabel, button, hbox, vbox
from training.runs.folder import RunFolder
from training.sidecars.process import is_sending, tell_end
from training.tracking.status import TrackerStatus, read_tracker_statuses

_LOOK_AGAIN = 2000  # milliseconds


class DeliveryLines(QWidget):
    """Looks at the run of ``set_run`` while it is in sight; hidden for a run that is sent nowhere."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self._folder: RunFolder | None = None
        self._lines: dict[str, _Line] = {}
        self._column = vbox(parent=self, spacing=SPACING.xs)
        self._timer = QTimer(self, interval=_LOOK_AGAIN)
        self._timer.timeout.connect(self._look_again)
        self.setAccessibleName("Trackers")
        self.hide()

    def set_run(self, folder: RunFolder | None) -> None:
        """Look at another run, or at none."""
        if folder != self._folder:
            self._folder = folder
            for line in self._lines.values():
                line.deleteLater()
            self._lines = {}
        self.refresh()
        if folder is None:
            self._timer.stop()
        elif not self._timer.isActive():
            self._timer.start()

    @Slot()
    def _look_again(self) -> None:
        page = self.parentWidget()
        if page is not None and page.isVisible():
            self.refresh()

    def refresh(self) -> None:
        """Look at the run's folder now."""
        folder = self._folder
        found = read_tracker_statuses(folder) if folder is not None else ()
        self.setVisible(bool(found))
        if folder is None:
            return
        for status in found:
            if status.tracker not in self._lines:
                self._lines[status.tracker] = line = _Line(self._context, folder)
                self._column.addWidget(line)
            self._lines[status.tracker].show_status(status)


class _Line(QWidget):
    def __init__(self, context: AppContext, folder: RunFolder) -> None:
        super().__init__()
        self._context, self._folder = context, folder
        self._status: TrackerStatus | None = None
        self._sending = False
        self._icon = IconLabel("link", 15)
        self._text = ElidedLabel("", Qt.TextElideMode.ElideRight)
        set_role(self._text, "help")
        self._send = button("Send now", "refresh", "ghost", clicked=self._on_send)
        self._open = button("", "link", "ghost", clicked=self._on_open)
        hbox(self._icon, (self._text, 1), self._send, self._open, parent=self, spacing=SPACING.s)

    def show_status(self, status: TrackerStatus) -> None:
        """Say how it stands."""
        self._status = status
        self._icon.set_icon("check" if status.complete else "warning" if status.problem else "link", "muted")
        text = f"{status.title}: {status.describe()}"
        self._text.setText(text)
        self._text.setToolTip("\n".join([text, *status.notes]))
        self._open.setText(f"Open in {status.title}" if self._page() else "Open folder")
        self._open.setVisible(bool(self._page()) or self._place().is_dir())
        over = tell_end(self._folder) != ""
        self._send.setVisible(over and not status.complete)
        if self._send.isVisibleTo(self):
            sending = self._sending or is_sending(self._folder.tracking)
            self._send.setEnabled(not sending)
            self._send.setText("Sending …" if sending else "Send now")

    def _page(self) -> str:
        """Where a browser finds the run; what a stranger's run folder calls so may be anything else."""
        link = self._status.link if self._status else ""
        return link if link.startswith(("http://", "https://")) else ""

    def _place(self) -> Path:
        return self._folder.path / (self._status.place if self._status else "")

    @Slot()
    def _on_open(self) -> None:
        if page := self._page():
            QDesktopServices.openUrl(QUrl(page))
        else:
            reveal(self._place())

    @Slot()
    def _on_send(self) -> None:
        if self._status is None:
            return
        self._sending = True
        self._send.setEnabled(False)
        self._send.setText("Sending …")
        words = ["track", str(self._folder.path), "--to", self._status.tracker]
        SideCommand(self._context, self._context.settings.get().engine_python, words, self._on_sent)

    def _on_sent(self, answer: Answer) -> None:
        self._sending = False
        if answer.code != 0:
            words = answer.error.splitlines()[-1:] or ["It gave no reason."]
            self._context.notifier.notify(words[0], "warning", title="Not all was sent")
