"""What the look is made of: colours, distances, type sizes, corner radii. No Qt here, and no colour anywhere else."""

from typing import Literal, NamedTuple

Tone = Literal["neutral", "info", "success", "warning", "danger", "accent"]
Mode = Literal["light", "dark", "system"]
FontRole = Literal["body", "title", "subtitle", "section", "caption", "number", "mono"]


class Palette(NamedTuple):
    """One theme's colours, each as "#rrggbb".

    `background` is the page, `surface` a card on it, `raised` what floats above (menus, tool tips), `sunken` what is
    let in (tracks, headers, plots). `x_soft` is the tint used behind text of colour `x`.
    `curves` tells curves apart for people with any kind of colour vision: it follows the order of Okabe and Ito
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

    def tone(self, tone: Tone) -> str:
        """The text and line colour of a tone."""
        return {"neutral": self.muted, "accent": self.accent_text}.get(tone) or str(getattr(self, tone))

    def tone_soft(self, tone: Tone) -> str:
        """The tint behind text of that tone."""
        return self.pressed if tone == "neutral" else str(getattr(self, f"{tone}_soft"))


LIGHT = Palette(
    name="light",
    is_dark=False,
    background="#f6f7f9",
    surface="#ffffff",
    raised="#ffffff",
    sunken="#eef0f4",
    hover="#f1f3f6",
    pressed="#e6e9ee",
    border="#e2e5ea",
    border_strong="#c9ced8",
    text="#171a21",
    muted="#5b6472",
    faint="#8b94a3",
    accent="#5147e5",
    accent_hover="#463cd4",
    accent_pressed="#3b32b8",
    accent_soft="#eeeefe",
    accent_text="#453bd0",
    on_accent="#ffffff",
    success="#11744f",
    success_soft="#e2f4ec",
    warning="#8a5300",
    warning_soft="#fdf1dc",
    danger="#c02b35",
    danger_hover="#a8222c",
    danger_soft="#fdeaeb",
    on_danger="#ffffff",
    info="#0b6a99",
    info_soft="#e3f2fa",
    selection="#e2e2fd",
    tooltip="#20242d",
    on_tooltip="#f2f4f8",
    curves=("#2f63d8", "#e07a00", "#00856a", "#b1458f", "#4fa3d8", "#c8452a", "#8a7a00", "#697386"),
)

DARK = Palette(
    name="dark",
    is_dark=True,
    background="#101216",
    surface="#17191f",
    raised="#1f222a",
    sunken="#0c0e11",
    hover="#20232b",
    pressed="#292d37",
    border="#272b34",
    border_strong="#3b414d",
    text="#e8eaef",
    muted="#9ba3b1",
    faint="#6a7280",
    accent="#6259f0",
    accent_hover="#7169f7",
    accent_pressed="#544bdd",
    accent_soft="#211f40",
    accent_text="#aaa5ff",
    on_accent="#ffffff",
    success="#4cc38a",
    success_soft="#12291f",
    warning="#f0b04b",
    warning_soft="#2f2412",
    danger="#ff7078",
    danger_hover="#ff8a90",
    danger_soft="#351a1d",
    on_danger="#2a0508",
    info="#63b8e8",
    info_soft="#112734",
    selection="#2d2b57",
    tooltip="#2b303b",
    on_tooltip="#f2f4f8",
    curves=("#6c9bff", "#ffac47", "#37cfa9", "#e58ac8", "#9bd4ff", "#ff8468", "#e0cd57", "#a2abba"),
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
    """Token name -> text, for the style sheets: every colour, plus `space_*`, `radius_*` and `font_*` in pixels."""
    tokens = {name: value for name, value in palette._asdict().items() if isinstance(value, str)}
    tokens |= {f"space_{name}": f"{value}px" for name, value in SPACING._asdict().items()}
    tokens |= {f"radius_{name}": f"{value}px" for name, value in RADIUS._asdict().items()}
    tokens |= {f"font_{name}": f"{round(value * font_scale)}px" for name, value in TYPE._asdict().items()}
    return tokens
