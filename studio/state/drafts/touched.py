"""Which settings the person has put a hand to: one that only waits for its first value is asked for, and not yet wrong."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, SignalInstance


class Touched(QObject):
    """Follows the three signals of a draft. Another kind's settings, and those of a preset, a file or a step back, are new.

    Signals: `demanded()` when somebody wants to train or check what is not complete: nothing waits from then on.
    """

    demanded = Signal()

    def __init__(self, edited: SignalInstance, kind_changed: SignalInstance, replaced: SignalInstance) -> None:
        super().__init__()
        self._paths: set[str] = set()
        self._demanded = False
        edited.connect(self._paths.add)
        kind_changed.connect(self._forget)
        replaced.connect(self._forget)

    def demand(self) -> None:
        """Say of all that is missing that it is wrong."""
        self._demanded = True
        self.demanded.emit()

    def has(self, path: str) -> bool:
        """Whether the person has put a hand to the setting, or has been told that it is missing."""
        return self._demanded or path in self._paths

    def _forget(self, section: str = "") -> None:
        self._demanded = False
        self._paths -= {path for path in self._paths if path.startswith(f"{section}.") or not section}
