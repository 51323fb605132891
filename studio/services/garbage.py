"""Python's garbage is collected in the thread of the window, and in no other."""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer, Slot

_LOOK = 1000  # milliseconds


class GarbageCollector(QObject):
    """Takes the place of the automatic collection for as long as it lives.

    That one begins in whichever thread makes an object, and deletes there what cycles have held: a menu, deleted by a thread that
    imports a module while the window goes through its widgets, ends the process with a segmentation fault.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        """Must be made, and deleted, in the thread of the window."""
        super().__init__(parent)
        gc.disable()
        timer = QTimer(self, interval=_LOOK)
        timer.timeout.connect(self.collect)
        timer.start()

    @Slot()
    def collect(self) -> None:
        """Collect the oldest generation that has passed its threshold, as Python would."""
        passed = [
            generation
            for generation, (count, most) in enumerate(zip(gc.get_count(), gc.get_threshold(), strict=True))
            if count > most > 0
        ]
        if passed:
            gc.collect(passed[-1])
