"""What the views of results have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from studio.widgets import Card, label


class ResultView(Card):
    """Shows what was found so far; one with nothing yet says what it waits for. ``say`` calls settings as the forms do."""

    def __init__(self, title: str) -> None:
        super().__init__(title)
        self.say: Callable[[str], str] = str
        self.waiting = label("", "help", wrap=True)
        self.add(self.waiting)
        self.waiting.hide()

    def show_found(self, found: Any) -> None:
        """Show ``found``, of the kind that the view is for."""
        raise NotImplementedError

    def wait(self, words: str) -> None:
        """Say what is to come; "" when there is something."""
        self.waiting.setText(words)
        self.waiting.setVisible(bool(words))
