"""How far the work is, at the program's entry in the taskbar or dock."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

from studio import identity

logger = logging.getLogger(__name__)

_INTERFACE = "com.canonical.Unity.LauncherEntry"
"""Of Ubuntu's and other docks of GNOME, of KDE's taskbar, and of Cinnamon's; others do not listen."""


def show_progress(fraction: float | None) -> None:
    """A bar of that share, or (None) no bar. On Linux alone: Qt 6 has no word for the taskbars of other systems."""
    if not sys.platform.startswith("linux") or not _has_bus():
        return
    try:
        from PySide6.QtDBus import QDBusConnection, QDBusMessage  # only once there is something to tell
    except ImportError as error:
        logger.info("The taskbar shows no progress: %s", error)
        return
    bus = QDBusConnection.sessionBus()
    if not bus.isConnected():
        return
    message = QDBusMessage.createSignal("/com/canonical/unity/launcherentry/1", _INTERFACE, "Update")
    facts = {"progress": fraction or 0.0, "progress-visible": fraction is not None}
    message.setArguments([f"application://{identity.APP_ID}.desktop", facts])
    bus.send(message)


def _has_bus() -> bool:
    """Whether there is one already: to ask for it where there is none would start one."""
    place = os.environ.get("XDG_RUNTIME_DIR")
    return "DBUS_SESSION_BUS_ADDRESS" in os.environ or (bool(place) and Path(str(place), "bus").exists())
