"""Arithmetic on colours."""

from PySide6.QtGui import QColor


def mixed(first: QColor, second: QColor, share: float) -> QColor:
    """The opaque colour `share` of the way from `first` (0) to `second` (1)."""
    return QColor.fromRgbF(
        first.redF() + (second.redF() - first.redF()) * share,
        first.greenF() + (second.greenF() - first.greenF()) * share,
        first.blueF() + (second.blueF() - first.blueF()) * share,
    )
