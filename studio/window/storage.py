"""Storage in the preferences: what the cache takes, and clearing it."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtGui import QShowEvent

from studio.actions.files import reveal
from studio.actions.question import Answer, ask
from studio.state.caches import caches_of
from studio.state.context import AppContext
from studio.widgets import STRETCH, Card, ElidedLabel, button, hbox, label
from training.system.places import cache_folder


class CacheCard(Card):
    """What is done here counts at once."""

    def __init__(self, context: AppContext) -> None:
        super().__init__("Cache", "database")
        self._caches = caches_of(context)
        self._folder = cache_folder()
        self.taken = label("", selectable=True, wrap=True)
        place = ElidedLabel(str(self._folder))
        place.setProperty("role", "caption")
        self.show_folder = button("Show folder", "folder", clicked=lambda: reveal(self._folder))
        self.show_folder.setAccessibleName("Show the folder of the cache")
        self.clear = button("Clear …", "trash", clicked=self._on_clear)
        self.clear.setAccessibleName("Clear the cache")
        self.problem = label("", "problem", wrap=True)
        words = "Decoded images and compiled code, kept so that the next run begins sooner. A run makes again what it does not find."
        self.add(
            self.taken,
            place,
            label(words, "help", wrap=True),
            hbox(self.clear, self.show_folder, STRETCH),
            self.problem,
        )
        self._caches.changed.connect(self.show_state)
        self.show_state()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._caches.look()

    @Slot()
    def show_state(self) -> None:
        """Say what is known, and what is being done."""
        caches, sizes = self._caches, self._caches.sizes
        words = "Looking …" if sizes is None else str(sizes) or "Empty"
        self.taken.setText("Clearing …" if caches.is_clearing else words)
        self.clear.setEnabled(sizes is not None and sizes.total > 0 and not caches.is_clearing)
        self.show_folder.setEnabled(self._folder.is_dir())
        self.problem.setText(caches.problem)
        self.problem.setVisible(bool(caches.problem))

    @Slot()
    def _on_clear(self) -> None:
        text = (
            f"This deletes {self._caches.sizes}. Nothing is lost, but the next runs that need it take longer to begin."
        )
        if ask(self, "Clear the cache?", text, (Answer("clear", "Clear", "danger"),)):
            self._caches.clear()
