"""The one theme of the process: which palette is in force, and the signal that says it changed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

from studio.theme import fonts, stylesheet
from studio.theme.tokens import DARK, DARK_HIGH, LIGHT, LIGHT_HIGH, FontRole, Mode, Palette

if TYPE_CHECKING:
    from PySide6.QtGui import QAccessibilityHints, QStyleHints


class Theme(QObject):
    """Chooses between light and dark, each in usual and in high contrast, and dresses the application so.

    Signals: `changed(Palette)` after the application wears a new palette.
    """

    changed = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.mode: Mode = "system"
        self.palette: Palette = LIGHT
        self.font_scale = 1.0
        self.high_contrast = False
        """Whether the person asked us for it; where the system was asked for it, it is worn as well."""
        self._app: QApplication | None = None
        self._hints: QStyleHints | None = None
        self._needs: QAccessibilityHints | None = None

    @property
    def is_dark(self) -> bool:
        """Whether light text stands on dark ground."""
        return self.palette.is_dark

    def font(self, role: FontRole) -> QFont:
        """The font of a role at the person's font scale."""
        return fonts.font(role, self.font_scale)

    def dress(self, app: QApplication, mode: Mode, font_scale: float, *, high_contrast: bool = False) -> None:
        """Put fonts, colors and style sheet on the application; again to change them."""
        if self._app is not app:
            self._app = app
            app.styleHints().colorSchemeChanged.connect(self._on_system_scheme_changed)
            self._hints = hints = app.styleHints()  # kept, or PySide forgets that what hangs on it lives
            if hasattr(hints, "accessibility"):  # since Qt 6.10
                self._needs = hints.accessibility()
                self._needs.contrastPreferenceChanged.connect(self._on_system_contrast_changed)
        self.font_scale, self.high_contrast = font_scale, high_contrast
        app.setFont(fonts.font("body", font_scale))
        self.set_mode(mode)

    def set_mode(self, mode: Mode) -> None:
        """Follow the system, or stay light or dark."""
        self.mode = mode
        hints = QGuiApplication.styleHints()
        wanted = {"light": Qt.ColorScheme.Light, "dark": Qt.ColorScheme.Dark, "system": Qt.ColorScheme.Unknown}[mode]
        hints.setColorScheme(wanted)  # also colors the title bar, where the system draws one
        self._choose(_is_dark(mode, hints.colorScheme()))

    def _on_system_scheme_changed(self, scheme: Qt.ColorScheme) -> None:
        if self.mode == "system":
            self._choose(scheme == Qt.ColorScheme.Dark)

    def _on_system_contrast_changed(self) -> None:
        self._choose(self.is_dark)

    def _choose(self, dark: bool) -> None:
        high = self.high_contrast or self._system_wants_contrast()
        self._wear((DARK_HIGH if high else DARK) if dark else (LIGHT_HIGH if high else LIGHT))

    def _system_wants_contrast(self) -> bool:
        needs = self._needs
        return needs is not None and needs.contrastPreference() == Qt.ContrastPreference.HighContrast

    def _wear(self, palette: Palette) -> None:
        if self._app is None:
            return
        self.palette = palette
        self._app.setPalette(qt_palette(palette))
        self._app.setStyleSheet(stylesheet.build(palette, self.font_scale))
        self.changed.emit(palette)


@cache
def theme() -> Theme:
    """The theme of this process; light until `apply` was called."""
    return Theme()


def _is_dark(mode: Mode, scheme: Qt.ColorScheme) -> bool:
    return mode == "dark" or (mode == "system" and scheme == Qt.ColorScheme.Dark)


def qt_palette(palette: Palette) -> QPalette:
    """Our colors under Qt's names, for what the style sheet leaves to the style."""
    made = QPalette()
    role, group = QPalette.ColorRole, QPalette.ColorGroup
    for target, color in {
        role.Window: palette.background,
        role.WindowText: palette.text,
        role.Base: palette.surface,
        role.AlternateBase: palette.hover,
        role.Text: palette.text,
        role.PlaceholderText: palette.muted,
        role.Button: palette.surface,
        role.ButtonText: palette.text,
        role.BrightText: palette.danger,
        role.ToolTipBase: palette.tooltip,
        role.ToolTipText: palette.on_tooltip,
        role.Highlight: palette.selection,
        role.HighlightedText: palette.text,
        role.Accent: palette.accent,
        role.Link: palette.accent_text,
        role.LinkVisited: palette.accent_text,
        role.Light: palette.surface,
        role.Midlight: palette.border,
        role.Mid: palette.border_strong,
        role.Dark: palette.border_strong,
        role.Shadow: palette.border_strong,
    }.items():
        made.setColor(target, QColor(color))
    for target in (role.WindowText, role.Text, role.ButtonText, role.HighlightedText):
        made.setColor(group.Disabled, target, QColor(palette.faint))
    return made


def mix(first: QColor, second: QColor, share: float) -> QColor:
    """The opaque color `share` of the way from `first` (0) to `second` (1)."""
    return QColor.fromRgbF(
        first.redF() + (second.redF() - first.redF()) * share,
        first.greenF() + (second.greenF() - first.greenF()) * share,
        first.blueF() + (second.blueF() - first.blueF()) * share,
    )
