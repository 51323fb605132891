"""What trackers and a copy have of a run, and what waits: a line for each below the run's head."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, QUrl, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget

from studio.actions.files import reveal
from studio.engine.side_command import Answer, SideCommand
from studio.state.context import AppContext
from studio.theme import SPACING, set_role
from studio.widgets import ElidedLabel, IconLabel, button, hbox, vbox
from training.copies.account import read_account
from training.runs.folder import RunFolder
from training.sidecars.process import is_sending, tell_end
from training.tracking.status import read_tracker_statuses

_LOOK_AGAIN = 2000  # milliseconds


@dataclass(frozen=True)
class _Delivery:
    """``title`` of the far end; ``link``: where a browser finds the run, ``place``: the folder that it lies in; ``words`` send the rest."""

    title: str
    text: str
    notes: tuple[str, ...]
    complete: bool
    problem: str
    link: str
    place: Path
    account: Path
    words: tuple[str, ...]


def _read_deliveries(folder: RunFolder) -> Iterator[_Delivery]:
    for status in read_tracker_statuses(folder):
        # What a stranger's run folder calls a link may be anything.
        link = status.link if status.link.startswith(("http://", "https://")) else ""
        yield _Delivery(
            status.title, status.describe(), status.notes, status.complete, status.problem, link,
            folder.path / status.place, folder.tracking, ("track", str(folder.path), "--to", status.tracker),
        )  # fmt: skip
    account = read_account(folder)
    if account.to:
        complete = account.ended == tell_end(folder) != "" and not account.count_waiting(folder)
        place = Path(account.to) / folder.id
        words = "copy", str(folder.path)
        yield _Delivery(
            "Copy", account.describe(folder), (), complete, account.problem, "", place, folder.copies, words
        )


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
        self.setAccessibleName("Trackers and copies")
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
        found = list(_read_deliveries(folder)) if folder is not None else []
        self.setVisible(bool(found))
        if folder is None:
            return
        for delivery in found:
            if delivery.title not in self._lines:
                self._lines[delivery.title] = line = _Line(self._context, folder)
                self._column.addWidget(line)
            self._lines[delivery.title].show_delivery(delivery)


class _Line(QWidget):
    def __init__(self, context: AppContext, folder: RunFolder) -> None:
        super().__init__()
        self._context, self._folder = context, folder
        self._delivery: _Delivery | None = None
        self._sending = False
        self._icon = IconLabel("link", 15)
        self._text = ElidedLabel("", Qt.TextElideMode.ElideRight)
        set_role(self._text, "help")
        self._send = button("Send now", "refresh", "ghost", clicked=self._on_send)
        self._open = button("", "link", "ghost", clicked=self._on_open)
        hbox(self._icon, (self._text, 1), self._send, self._open, parent=self, spacing=SPACING.s)

    def show_delivery(self, delivery: _Delivery) -> None:
        """Say how it stands."""
        self._delivery = delivery
        self._icon.set_icon("check" if delivery.complete else "warning" if delivery.problem else "link", "muted")
        text = f"{delivery.title}: {delivery.text}"
        self._text.setText(text)
        self._text.setToolTip("\n".join([text, *delivery.notes]))
        self._open.setText(f"Open in {delivery.title}" if delivery.link else "Open folder")
        self._open.setVisible(bool(delivery.link) or delivery.place.is_dir())
        over = tell_end(self._folder) != ""
        self._send.setVisible(over and not delivery.complete)
        if self._send.isVisibleTo(self):
            sending = self._sending or is_sending(delivery.account)
            self._send.setEnabled(not sending)
            self._send.setText("Sending …" if sending else "Send now")

    @Slot()
    def _on_open(self) -> None:
        if self._delivery is not None and self._delivery.link:
            QDesktopServices.openUrl(QUrl(self._delivery.link))
        elif self._delivery is not None:
            reveal(self._delivery.place)

    @Slot()
    def _on_send(self) -> None:
        if self._delivery is None:
            return
        self._sending = True
        self._send.setEnabled(False)
        self._send.setText("Sending …")
        SideCommand(self._context, self._context.settings.get().engine_python, self._delivery.words, self._on_sent)

    def _on_sent(self, answer: Answer) -> None:
        self._sending = False
        if answer.code != 0:
            words = answer.error.splitlines()[-1:] or ["It gave no reason."]
            self._context.notifier.notify(words[0], "warning", title="Not all was sent")
