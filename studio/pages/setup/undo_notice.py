"""Says what undo and redo changed, and shows the first of it: it may stand on a panel that is not in sight."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QWidget

from studio.forms.messages import KindOf, tell_change
from studio.services.notifier import Notifier
from studio.theme import set_property
from training.config.diff import Change
from training.toml_text import Toml

_FLASH = 1500  # milliseconds
_MOST_TOLD = 2


def tell_step(notifier: Notifier, back: bool, changes: Mapping[str, tuple[Toml, Toml]], kind_of: KindOf) -> None:
    """Show the first ``changes`` of an undo (``back``) or a redo in a notice, which takes the place of the one before."""
    told = [tell_change(Change(path, old, new), kind_of) for path, (old, new) in list(changes.items())[:_MOST_TOLD]]
    rest = len(changes) - len(told)
    more = f"; and {rest} more" if rest else ""
    notifier.notify(f"{'; '.join(told)}{more}", title="Undone" if back else "Redone", subject="undo")


def flash(row: QWidget) -> None:
    """Tint a row for a moment."""
    set_property(row, "flash", True)
    QTimer.singleShot(_FLASH, row, lambda: set_property(row, "flash", False))
