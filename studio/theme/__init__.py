"""How the program looks: tokens, fonts, icons and the style sheet. Depends on Qt and `training.system.resources` only."""

from collections.abc import Iterator
from contextlib import contextmanager

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication

from studio.theme.icons import IconRole, icon, pixmap
from studio.theme.properties import LabelRole, Variant, set_invalid, set_property, set_role, set_variant
from studio.theme.svg import icon_names
from studio.theme.theme import Theme, theme
from studio.theme.tokens import DARK, DARK_HIGH, LIGHT, LIGHT_HIGH, RADIUS, SPACING, FontRole, Mode, Palette, Tone

__all__ = [
    "DARK",
    "DARK_HIGH",
    "LIGHT",
    "LIGHT_HIGH",
    "RADIUS",
    "SPACING",
    "FontRole",
    "IconRole",
    "LabelRole",
    "Mode",
    "Palette",
    "Theme",
    "Tone",
    "Variant",
    "apply",
    "dress_at_end",
    "font",
    "icon",
    "icon_names",
    "pixmap",
    "set_invalid",
    "set_property",
    "set_role",
    "set_variant",
    "theme",
]


def apply(app: QApplication, mode: Mode = "system", *, font_scale: float = 1.0, high_contrast: bool = False) -> Theme:
    """Dress the application; call again to switch. `font_scale` 1.0 is the designed size (13 px body text)."""
    chosen = theme()
    chosen.dress(app, mode, font_scale, high_contrast=high_contrast)
    return chosen


def font(role: FontRole) -> QFont:
    """The font of a role at the person's font scale, for widgets that paint themselves."""
    return theme().font(role)


@contextmanager
def dress_at_end(app: QCoreApplication | None) -> Iterator[None]:
    """What is built inside is dressed once, at the end. Under a style sheet Qt dresses a widget and all that it holds again whenever it
    is put into another one, which for a page of two thousand takes thrice as long. At the end all that there is is dressed again: this
    pays while that is little."""
    assert isinstance(app, QApplication)
    sheet = app.styleSheet()
    app.setStyleSheet("")
    try:
        yield
    finally:
        if not app.styleSheet():  # else it chose a theme of its own
            app.setStyleSheet(sheet)
