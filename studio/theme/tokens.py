"""What the look is made of: colors, distances, type sizes, corner radii. No Qt here, and no color anywhere else."""

from typing import Literal, NamedTuple

Tone = Literal["neutral", "info", "success", "warning", "danger", "accent"]
Mode = Literal["light", "dark", "system"]
FontRole = Literal["body", "title", "subtitle", "section", "caption", "number", "mono"]


class Palette(NamedTuple):
    """One theme's colors, each as "#rrggbb".

    `background` is the page, `surface` a card on it, `raised` what floats above (menus, tool tips), `sunken` what is
    let in (tracks, headers, plots). `x_soft` is the tint used behind text of color `x`.
    `curves` tells curves apart for people with any kind of color vision: it follows the order of Okabe and Ito
    ("Color Universal Design", 2008), with lightness adjusted to the background.
    """

    name: str
    is_dark: bool
    background: str
    surface: str
    raised: str
    sunken: str
    hover: str
    pressed: str
    border: str
    border_strong: str
    text: str
    muted: str
    faint: str
    accent: str
    accent_hover: str
    accent_pressed: str
    accent_soft: str
    accent_text: str
    on_accent: str
    success: str
    success_soft: str
    warning: str
    warning_soft: str
    danger: str
    danger_hover: str
    danger_soft: str
    on_danger: str
    info: str
    info_soft: str
    selection: str
    tooltip: str
    on_tooltip: str
    curves: tuple[str, ...]

    def curve(self, number: int) -> str:
        """The color of a curve, a class or a part by its number; after the last comes the first again."""
        return self.curves[number % len(self.curves)]

    def tone(self, tone: Tone) -> str:
        """The text and line color of a tone."""
        return {"neutral": self.muted, "accent": self.accent_text}.get(tone) or str(getattr(self, tone))

    def tone_soft(self, tone: Tone) -> str:
        """The tint behind text of that tone."""
        return self.pressed if tone == "neutral" else str(getattr(self, f"{tone}_soft"))


_COLORS = (
    ("background", "#f6f7f9", "#101216"),
    ("surface", "#ffffff", "#17191f"),
    ("raised", "#ffffff", "#1f222a"),
    ("sunken", "#eef0f4", "#0c0e11"),
    ("hover", "#f1f3f6", "#20232b"),
    ("pressed", "#e6e9ee", "#292d37"),
    ("border", "#e2e5ea", "#272b34"),
    ("border_strong", "#c9ced8", "#3b414d"),
    ("text", "#171a21", "#e8eaef"),
    ("muted", "#5b6472", "#9ba3b1"),
    ("faint", "#7d8796", "#6a7280"),
    ("accent", "#5147e5", "#6259f0"),
    ("accent_hover", "#463cd4", "#6a61f4"),
    ("accent_pressed", "#3b32b8", "#544bdd"),
    ("accent_soft", "#eeeefe", "#211f40"),
    ("accent_text", "#453bd0", "#aaa5ff"),
    ("on_accent", "#ffffff", "#ffffff"),
    ("success", "#11744f", "#4cc38a"),
    ("success_soft", "#e2f4ec", "#12291f"),
    ("warning", "#8a5300", "#f0b04b"),
    ("warning_soft", "#fdf1dc", "#2f2412"),
    ("danger", "#c02b35", "#ff7078"),
    ("danger_hover", "#a8222c", "#ff8a90"),
    ("danger_soft", "#fdeaeb", "#351a1d"),
    ("on_danger", "#ffffff", "#2a0508"),
    ("info", "#0b6a99", "#63b8e8"),
    ("info_soft", "#e3f2fa", "#112734"),
    ("selection", "#e2e2fd", "#2d2b57"),
    ("tooltip", "#20242d", "#2b303b"),
    ("on_tooltip", "#f2f4f8", "#f2f4f8"),
)
"""Each color's name, and what it is by day and by night."""

LIGHT = Palette(
    name="light",
    is_dark=False,
    curves=("#2f63d8", "#d07001", "#00856a", "#b84c97", "#3691c5", "#d65035", "#776900", "#5a6272"),
    **{name: light for name, light, _ in _COLORS},
)
DARK = Palette(
    name="dark",
    is_dark=True,
    curves=("#6c9bff", "#f2a138", "#37cfa9", "#e98fcf", "#9bd4ff", "#ff8468", "#e6d25e", "#9ca0a9"),
    **{name: dark for name, _, dark in _COLORS},
)

# For those who asked their system, or us, for high contrast: text on the darkest and the lightest there is, and edges that are seen.
LIGHT_HIGH = LIGHT._replace(
    name="light, high contrast",
    background="#ffffff",
    hover="#e6e9ee",
    pressed="#d9dde5",
    border="#5b6472",
    border_strong="#171a21",
    text="#000000",
    muted="#333a45",
    faint="#5b6472",
    accent="#3b32b8",
    accent_hover="#2f2799",
    accent_pressed="#241d7a",
    accent_text="#2f2799",
    success="#0a4a32",
    warning="#5c3700",
    danger="#8c111b",
    danger_hover="#6e0b14",
    info="#064568",
)
DARK_HIGH = DARK._replace(
    name="dark, high contrast",
    background="#000000",
    surface="#000000",
    raised="#101216",
    sunken="#000000",
    border="#9ba3b1",
    border_strong="#e8eaef",
    text="#ffffff",
    muted="#d5d9e0",
    faint="#8b94a3",
    accent="#aaa5ff",
    accent_hover="#c3bfff",
    accent_pressed="#8f88f5",
    accent_text="#c9c6ff",
    on_accent="#000000",
    success="#8ae5b8",
    warning="#ffd18a",
    danger="#ffb0b4",
    danger_hover="#ffc8cb",
    info="#a9dcf8",
)


class Spacing(NamedTuple):
    """Distances in device-independent pixels; nothing between two of these."""

    xs: int = 4
    s: int = 8
    m: int = 12
    l: int = 16  # noqa: E741 - the scale reads xs, s, m, l, xl, xxl
    xl: int = 24
    xxl: int = 32


class Radius(NamedTuple):
    """Corner radii in device-independent pixels."""

    small: int = 4
    medium: int = 6
    large: int = 10


class TypeScale(NamedTuple):
    """Type sizes in device-independent pixels, before the person's own font scale."""

    caption: int = 12
    body: int = 13
    subtitle: int = 14
    section: int = 14
    title: int = 20
    number: int = 24

    def size(self, role: FontRole) -> int:
        """Pixels of a role; monospaced text has the body's size."""
        return int(getattr(self, "body" if role == "mono" else role))


SPACING = Spacing()
RADIUS = Radius()
TYPE = TypeScale()


def substitutions(palette: Palette, font_scale: float) -> dict[str, str]:
    """Token name -> text, for the style sheets: every color, plus `space_*`, `radius_*` and `font_*` in pixels."""
    tokens = {name: value for name, value in palette._asdict().items() if isinstance(value, str)}
    tokens |= {f"space_{name}": f"{value}px" for name, value in SPACING._asdict().items()}
    tokens |= {f"radius_{name}": f"{value}px" for name, value in RADIUS._asdict().items()}
    tokens |= {f"font_{name}": f"{round(value * font_scale)}px" for name, value in TYPE._asdict().items()}
    return tokens
