"""The rendered icons: each as large as it says, none empty, the containers complete."""

import pytest
from PIL import Image

from studio.identity import APP_ICON, ICONS


@pytest.mark.parametrize("size", [16, 24, 32, 48, 64, 128, 256, 512])
def test_each_size_is_drawn(size: int) -> None:
    with Image.open(ICONS / f"app-{size}.png") as image:
        assert image.size == (size, size)
        rgba = image.convert("RGBA")
    center = rgba.getpixel((size // 2, size // 2))
    assert isinstance(center, tuple)
    assert center[3] == 255
    colors = rgba.getcolors(maxcolors=size * size)
    assert colors is not None
    assert len(colors) > 16


def test_windows_and_macos_find_their_sizes() -> None:
    with Image.open(ICONS / "app.ico") as image:
        assert {16, 24, 32, 48, 64, 128, 256} == {width for width, _ in image.info["sizes"]}
    with Image.open(ICONS / "app.icns") as image:
        assert {16, 32, 64, 128, 256, 512} == {width * scale for width, _, scale in image.info["sizes"]}


def test_the_drawing_needs_nothing_from_outside() -> None:
    text = APP_ICON.read_text(encoding="utf-8")
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "<image" not in text
