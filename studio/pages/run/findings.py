"""What the engine noticed while it worked."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from studio.panels.fix_dialog import make_banner
from studio.theme import Tone
from studio.widgets import Banner, vbox
from training.config import RunConfig
from training.events import Finding

_SHOWN = 3  # the newest of them: older ones are in the log


class FindingList(QWidget):
    """Findings as banners, newest first; the same finding again replaces its banner.

    Signals:
        apply_asked(Mapping): the settings that a finding proposes are wanted.
        changed(): one came or went.
    """

    apply_asked = Signal(object)
    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._banners: dict[str, Banner] = {}
        self._column = vbox(parent=self)
        self.hide()

    @property
    def newest(self) -> tuple[Tone, str, str] | None:
        """Tone, title and text of the one that came last."""
        banner = next(reversed(self._banners.values()), None)
        return banner.message if banner is not None else None

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._banners)

    def clear(self) -> None:
        """Forget all findings."""
        for title in list(self._banners):
            self._remove(title)

    def add(self, finding: Finding, config: RunConfig | None) -> None:
        """Show one finding about a run of ``config``."""
        if finding.level == "ok":
            return
        self._remove(finding.title)
        banner = make_banner(finding, config, self.apply_asked.emit)
        banner.closed.connect(lambda: self._remove(finding.title))
        self._banners[finding.title] = banner
        self._column.insertWidget(0, banner)
        for title in list(self._banners)[:-_SHOWN]:
            self._remove(title)
        self.show()
        self.changed.emit()

    def _remove(self, title: str) -> None:
        banner = self._banners.pop(title, None)
        if banner is not None:
            banner.setParent(None)
            banner.deleteLater()
            self.changed.emit()
        self.setVisible(bool(self._banners))
