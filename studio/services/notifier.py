"""Short messages to the person, from any place that has no widget of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QObject, Signal

Tone = Literal["neutral", "info", "success", "warning", "danger", "accent"]


@dataclass(frozen=True)
class Notification:
    """One message. ``details`` is technical text, shown on demand; ``action`` runs when its button is pressed, and so does ``other``,
    whose button is a quieter one beside it. It takes the place of the one before it on the same ``subject``; a ``lasting`` one stays until then, or until it is closed."""

    text: str
    tone: Tone = "info"
    title: str = ""
    details: str = ""
    action_text: str = ""
    action: Callable[[], object] | None = None
    subject: str = ""
    lasting: bool = False
    other_text: str = ""
    other: Callable[[], object] | None = None


class Notifier(QObject):
    """Passes messages to whoever shows them (the window: as toasts).

    Signals:
        notified(Notification)
        withdrawn(subject): what was said on it is past.
    """

    notified = Signal(object)
    withdrawn = Signal(str)

    def notify(
        self,
        text: str,
        tone: Tone = "info",
        *,
        title: str = "",
        details: str = "",
        action_text: str = "",
        action: Callable[[], object] | None = None,
        subject: str = "",
        lasting: bool = False,
        other_text: str = "",
        other: Callable[[], object] | None = None,
    ) -> None:
        """Show one message."""
        notice = Notification(text, tone, title, details, action_text, action, subject, lasting, other_text, other)
        self.notified.emit(notice)
