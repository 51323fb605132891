"""Render the application icon: `python packaging/render_icons.py` after each change of app.svg or app-small.svg.

Writes the PNG sizes of the Linux icon theme, app.ico (Windows) and app.icns (macOS) beside the SVGs. They are kept in
the repository, so that installing a shortcut needs nothing but the standard library.
"""

import io
import os
import struct
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PIL import Image
from PySide6.QtCore import QBuffer, QIODevice
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

ICONS = Path(__file__).resolve().parent.parent / "resources" / "icons"
THEME_SIZES = (16, 24, 32, 48, 64, 128, 256, 512)
WINDOWS_SIZES = (16, 24, 32, 48, 64, 128, 256)
MACOS_TYPES = {16: b"icp4", 32: b"icp5", 64: b"icp6", 128: b"ic07", 256: b"ic08", 512: b"ic09"}
SMALL = 32  # up to here the rails would blur into gray: the simpler drawing is used


def render(size: int) -> Image.Image:
    drawing = QSvgRenderer(str(ICONS / ("app-small.svg" if size <= SMALL else "app.svg")))
    image = QImage(size, size, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(0)
    painter = QPainter(image)
    drawing.render(painter)
    painter.end()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    return Image.open(io.BytesIO(buffer.data().data())).convert("RGBA")


def main() -> None:
    application = QGuiApplication([])  # QImage and QSvgRenderer need one alive
    images = {size: render(size) for size in THEME_SIZES}
    for size in THEME_SIZES:
        images[size].save(ICONS / f"app-{size}.png", optimize=True)
    # Pillow scales nothing down when each size is given as it should look ...
    images[256].save(
        ICONS / "app.ico",
        sizes=[(size, size) for size in WINDOWS_SIZES],
        append_images=[images[size] for size in WINDOWS_SIZES],
    )
    # ... but always adds a blown-up 1024 to an .icns, so that one is packed here: type, length, PNG, for each size.
    entries = [(kind, (ICONS / f"app-{size}.png").read_bytes()) for size, kind in MACOS_TYPES.items()]
    body = b"".join(kind + struct.pack(">I", 8 + len(png)) + png for kind, png in entries)
    (ICONS / "app.icns").write_bytes(b"icns" + struct.pack(">I", 8 + len(body)) + body)
    application.quit()
    print(f"Wrote {len(THEME_SIZES)} PNG files, app.ico and app.icns to {ICONS}")


if __name__ == "__main__":
    main()
