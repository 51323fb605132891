"""The QThread that owns an engine."""

from __future__ import annotations

from PySide6.QtCore import QObject, QThread, Signal

from studio.engine.link import EngineLink


class EngineThread(QThread):
    """Listens to one engine until it ends; in place, it is the thread the engine works in.

    Signals:
        replied(dict): one reply, in the order the engine gave them.
        ended(EngineDeath | None): the engine is gone; None when it was told to end.
    """

    replied = Signal(object)
    ended = Signal(object)

    def __init__(self, link: EngineLink, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.link = link

    def run(self) -> None:
        """The thread's work (called by Qt)."""
        self.ended.emit(self.link.converse(self.replied.emit))
