"""The icon files: which there are, and their text in a color. Knows nothing of the theme in force."""

from functools import cache

from training.system.resources import find_resources

_ICONS = find_resources("studio", "icons")
_LINE = 'stroke-width="1.75"'


@cache
def icon_names() -> tuple[str, ...]:
    """Every icon there is, sorted; the program's own icons (`app*`) are not among them."""
    return tuple(sorted(file.stem for file in _ICONS.glob("*.svg") if not file.stem.startswith("app")))


@cache
def svg_source(name: str) -> str:
    """The text of `icons/<name>.svg`. Raises KeyError where there is none."""
    try:
        return (_ICONS / f"{name}.svg").read_text(encoding="utf-8")
    except FileNotFoundError:
        raise KeyError(f"there is no icon called {name!r}; the icons are {', '.join(icon_names())}") from None


def tint_svg(name: str, color: str, line_width: float = 1.75) -> str:
    """The icon's SVG text in `color` ("#rrggbb"), with lines `line_width` wide on its grid of 24 units."""
    return svg_source(name).replace("currentColor", color).replace(_LINE, f'stroke-width="{line_width}"')
