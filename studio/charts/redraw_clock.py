"""When curves are drawn: data may come at any rate, drawing happens at most ten times a second and only if it is seen."""

from typing import Protocol

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QWidget

INTERVAL_MS = 100
_MINIMISED_INTERVAL_MS = 1000


class Redrawn(Protocol):
    """What the clock draws: `prepare` settles what linked plots share, `refresh` draws."""

    def prepare(self) -> None: ...
    def refresh(self) -> None: ...
    def isVisible(self) -> bool: ...
    def window(self) -> QWidget: ...


class RedrawClock(QObject):
    """One timer for several plots. It runs only while something waits to be drawn that can be seen.

    A hidden plot's request is dropped: plots ask again when they are shown.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: list[Redrawn] = []
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._on_timeout)

    def request(self, plot: Redrawn) -> None:
        """Draw `plot` at the next tick."""
        if plot not in self._waiting:
            self._waiting.append(plot)
        if not self._timer.isActive() and plot.isVisible():
            self._timer.start(INTERVAL_MS)

    def is_running(self) -> bool:
        """Whether a tick is due."""
        return self._timer.isActive()

    def _on_timeout(self) -> None:
        seen = self._seen()
        if seen and seen[0].window().isMinimized():
            self._waiting = seen
            self._timer.start(_MINIMISED_INTERVAL_MS)
            return
        for plot in seen:
            plot.prepare()  # may make linked plots ask, too: they are drawn in the same tick
        seen, self._waiting = self._seen(), []
        self._timer.stop()
        for plot in seen:
            plot.refresh()

    def _seen(self) -> list[Redrawn]:
        return [plot for plot in self._waiting if plot.isVisible()]
