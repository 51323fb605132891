"""The notice that there is a newer version, at the start of a person who wants to be told."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QTimer

from studio.state.context import AppContext
from studio.widgets import Banner
from studio.window.start_notices import StartNotices

UPDATES: Final = "Updates"
"""Their section in the preferences."""
_PAUSE_MS: Final = 5000
"""Until it is asked: the start has better things to do."""


def notice_update(context: AppContext, notices: StartNotices) -> None:
    """Ask in a moment, where that is wanted, and tell."""
    if context.settings.get().update_check:
        QTimer.singleShot(_PAUSE_MS, notices, lambda: ask_and_tell(context, notices))


def ask_and_tell(context: AppContext, notices: StartNotices) -> None:
    """Ask where that is due; tell what is known of, unless it was put away."""
    from studio.services.updates import explain_update  # which knows how to ask a server
    from studio.state.updates import updates_of

    updates, settings = updates_of(context), context.settings
    told: list[str] = []

    def tell() -> None:
        newer = updates.newer
        if newer and newer not in (settings.get().update_left_alone, *told):
            told.append(newer)
            banner = Banner("info", *explain_update(newer))
            banner.closed.connect(lambda: settings.update(update_left_alone=newer))
            notices.add(banner)

    updates.changed.connect(tell)
    updates.ask_when_due()
    tell()
