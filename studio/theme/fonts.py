"""The program's own typeface, so that it looks the same everywhere and digits stand in columns."""

from functools import cache

from PySide6.QtGui import QFont, QFontDatabase

from studio.theme.tokens import TYPE, FontRole
from training.system.resources import find_resources

_SEMI_BOLD: tuple[FontRole, ...] = ("title", "section", "number")


@cache
def load_families() -> tuple[str, ...]:
    """Register the bundled fonts and return the families to ask for, best first. Needs a QGuiApplication."""
    families: list[str] = []
    for file in sorted(find_resources("studio", "fonts").glob("*.otf")):
        number = QFontDatabase.addApplicationFont(str(file))
        families += QFontDatabase.applicationFontFamilies(number) if number >= 0 else []
    system = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont).family()
    return tuple(dict.fromkeys([*families, system]))


def font(role: FontRole, scale: float = 1.0) -> QFont:
    """The font of a role, for widgets that paint themselves; `scale` is the person's font scale."""
    if role == "mono":
        made = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    else:
        made = QFont(list(load_families()))
        # Numbers change while they are looked at: digits of one width keep them from dancing.
        made.setFeature(QFont.Tag("tnum"), 1)
    made.setPixelSize(round(TYPE.size(role) * scale))
    made.setWeight(QFont.Weight.DemiBold if role in _SEMI_BOLD else QFont.Weight.Normal)
    return made
