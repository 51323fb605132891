"""The style sheet: the numbered files joined in name order, tokens filled in, small images tinted.

Qt's style sheets take images only from files, and the package may lie in a folder nobody may write to. So the few
tinted images (arrows, check marks) go into the person's cache folder, named by their content.
"""

import re
import tempfile
import zlib
from functools import cache
from pathlib import Path
from string import Template

from PySide6.QtCore import QStandardPaths

from studio.theme.svg import tint_svg
from studio.theme.tokens import Palette, substitutions
from training.system.resources import find_resources

# token in the style sheet -> icon, palette color, line width
_PICTURES: dict[str, tuple[str, str, float]] = {
    "image_arrow_down": ("chevron-down", "muted", 2.0),
    "image_arrow_down_faint": ("chevron-down", "faint", 2.0),
    "image_arrow_up": ("chevron-up", "muted", 2.0),
    "image_arrow_up_faint": ("chevron-up", "faint", 2.0),
    "image_arrow_right": ("chevron-right", "muted", 2.0),
    "image_check": ("check", "on_accent", 3.25),
    "image_check_faint": ("check", "faint", 3.25),
    "image_check_menu": ("check", "accent_text", 2.25),
    "image_dash": ("minus", "on_accent", 3.25),
    "image_question": ("help", "accent_text", 1.5),
    "image_information": ("info", "accent_text", 1.5),
    "image_warning": ("warning", "warning", 1.5),
    "image_critical": ("warning", "danger", 1.5),
    "image_cross": ("cross", "muted", 2.0),
}

_LINE_HEIGHTS = re.compile(r"(m(?:in|ax)-height: )(1[8-9]|[2-9]\d)px")  # what holds a line of text grows with it


def build(palette: Palette, font_scale: float) -> str:
    """The whole style sheet for a palette. Raises KeyError when a file names a token that does not exist."""
    tokens = substitutions(palette, font_scale)
    for token, (name, color, line_width) in _PICTURES.items():
        tokens[token] = f'url("{_image_file(tint_svg(name, str(getattr(palette, color)), line_width))}")'
    sheet = Template(_join_files()).substitute(tokens)
    return _LINE_HEIGHTS.sub(lambda found: f"{found[1]}{round(int(found[2]) * max(font_scale, 1.0))}px", sheet)


@cache
def _join_files() -> str:
    return "\n".join(
        file.read_text(encoding="utf-8") for file in sorted(find_resources("studio", "styles").glob("*.qss"))
    )


@cache
def _cache_folder() -> Path:
    wanted = Path(QStandardPaths.writableLocation(QStandardPaths.StandardLocation.GenericCacheLocation))
    folder = wanted / "trainwright" / "theme"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        # No home to write to (a kiosk, a container): a folder of this process's own does as well.
        return Path(tempfile.mkdtemp(prefix="trainwright-theme-"))


def _image_file(svg: str) -> str:
    content = svg.encode()
    # Two sums of 32 bits tell a few dozen images apart, and need no cryptography loaded before the first paint.
    file = _cache_folder() / f"{zlib.crc32(content):08x}{zlib.adler32(content):08x}.svg"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)  # cache folders may be emptied while the program runs
        # Two windows may start at once: each writes its own file, the last rename wins with the same content.
        with tempfile.NamedTemporaryFile("w", dir=file.parent, suffix=".part", encoding="utf-8", delete=False) as part:
            part.write(svg)
        Path(part.name).replace(file)
    return file.as_posix()
