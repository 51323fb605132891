"""Folders of images and idx files that hold bombs, loops and lies."""

from __future__ import annotations

import gzip
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

from PIL import Image

from tests.reliability.hostile.material import bomb

Build = Callable[[Path], None]
_FORMATS = ("png", "jpg", "gif", "bmp", "tif", "webp", "ppm", "ico", "tga", "jp2", "pcx", "sgi", "avif")


def _good(folder: Path) -> None:
    """Two classes of six ordinary images."""
    for name, color in (("cat", "red"), ("dog", "blue")):
        (folder / name).mkdir(parents=True)
        for number in range(6):
            Image.new("RGB", (8, 8), color).save(folder / name / f"{number}.png")


def _with(name: str | bytes, data: bytes) -> Build:
    """A good folder with one file more."""

    def build(folder: Path) -> None:
        _good(folder)
        with open(os.fsencode(folder / "cat") + b"/" + os.fsencode(name), "wb") as stream:  # noqa: PTH123 - bytes
            stream.write(data)

    return build


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, *chunks: bytes, pixels: bytes | None = None) -> bytes:
    """A gray PNG of any claimed size."""
    header = _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    data = zlib.compress(bytes(1000)) if pixels is None else pixels
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(chunks) + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _cut(suffix: str) -> Build:
    def build(folder: Path) -> None:
        _good(folder)
        path = folder / "cat" / f"cut.{suffix}"
        Image.effect_noise((64, 64), 50).convert("RGB").save(path)
        data = path.read_bytes()
        path.write_bytes(data[: len(data) * 2 // 3])

    return build


def _also(change: Callable[[Path], object]) -> Build:
    def build(folder: Path) -> None:
        _good(folder)
        change(folder)

    return build


def _deep(folder: Path) -> None:
    """As deep as the system allows a path to be."""
    here = os.open(folder / "cat", os.O_RDONLY)
    for _ in range(10_000):
        os.mkdir("d", dir_fd=here)
        deeper = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)


def _all_to_all(folder: Path) -> None:
    """Twelve folders that link to each other: 12! ways lead through them."""
    for one in range(12):
        (folder / "cat" / f"d{one}").mkdir()
    for one in range(12):
        for other in range(12):
            (folder / "cat" / f"d{one}" / f"to{other}").symlink_to(folder / "cat" / f"d{other}")


def _sparse(folder: Path) -> None:
    with (folder / "cat" / "huge.png").open("wb") as stream:
        stream.truncate(1 << 40)


_EXIF = b"Exif\0\0MM\0*\0\0\0\x08\xff\xff" + bytes(range(256)) * 16
_TIFF_LOOP = b"II*\0\x08\0\0\0\x00\x00\x08\0\0\0"
_GIF = (
    b"GIF89a"
    + struct.pack("<HH", 65535, 65535)
    + b"\x80\0\0"
    + bytes(6)
    + b","
    + struct.pack("<4H", 0, 0, 65535, 65535)
    + b"\0\x02\x02L\x01\0;"
)
_BMP = (
    b"BM"
    + struct.pack("<IHHI", 58, 0, 0, 54)
    + struct.pack("<IiiHHIIiiII", 40, 100_000, 100_000, 1, 24, 0, 0, 0, 0, 0, 0)
)
_WEBP = (
    b"RIFF" + struct.pack("<I", 30) + b"WEBPVP8X" + struct.pack("<I", 10) + b"\0\0\0\0" + b"\xff\xff\xff" * 2 + bytes(8)
)

PICTURES: dict[str, Build] = {
    "a PNG of 10^5 x 10^5": _with("bomb.png", png(100_000, 100_000)),
    "a PNG of 2^31 x 2^31": _with("bomb.png", png((1 << 31) - 1, (1 << 31) - 1)),
    "a PNG without pixels": _with("none.png", png(0, 0)),
    "a PNG whose pixels unpack to 4 GB": _with("bomb.png", png(8, 8, pixels=b"\x78\x9c" + bomb(4 << 30))),
    "a PNG whose note unpacks to 1 GB": _with("bomb.png", png(8, 8, _chunk(b"zTXt", b"a\0\0\x78\x9c" + bomb(1 << 30)))),
    "a PNG whose profile unpacks to 1 GB": _with(
        "bomb.png", png(8, 8, _chunk(b"iCCP", b"a\0\0\x78\x9c" + bomb(1 << 30)))
    ),
    "a PNG with a wild note of its direction": _with("exif.png", png(8, 8, _chunk(b"eXIf", _EXIF[6:]))),
    "a GIF of 65535 x 65535": _with("bomb.gif", _GIF),
    "a BMP of 10^5 x 10^5": _with("bomb.bmp", _BMP),
    "a WebP of 2^24 x 2^24": _with("bomb.webp", _WEBP),
    "a TIFF that leads back to itself": _with("loop.tif", _TIFF_LOOP),
    "a TIFF of 10^5 x 10^5": _with(
        "bomb.tif",
        b"II*\0\x08\0\0\0"
        + struct.pack("<H", 3)
        + struct.pack("<HHII", 256, 4, 1, 100_000)
        + struct.pack("<HHII", 257, 4, 1, 100_000)
        + struct.pack("<HHII", 273, 4, 1, 8)
        + bytes(4),
    ),
    "a JPEG with a wild note of its direction": _with(
        "exif.jpg", b"\xff\xd8\xff\xe1" + struct.pack(">H", len(_EXIF) + 2) + _EXIF
    ),
    "a PPM of 10^5 x 10^5": _with("bomb.ppm", b"P6 100000 100000 255\n"),
    "an ICO with a large image inside": _with(
        "bomb.ico", b"\0\0\1\0\1\0" + struct.pack("<BBBBHHII", 0, 0, 0, 0, 1, 32, 5000, 22) + png(30_000, 30_000)
    ),
    **{f"a {suffix} cut off": _cut(suffix) for suffix in _FORMATS if suffix != "avif"},
    **{
        f"a {suffix} of random bytes": _with(f"random.{suffix}", bytes(i * 37 % 251 for i in range(3000)))
        for suffix in _FORMATS[::2]
    },
    **{f"a {suffix} of nothing": _with(f"empty.{suffix}", b"") for suffix in _FORMATS[1::2]},
    "an SVG named .jpg": _with("x.jpg", b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'),
    "a page named .png": _with("x.png", b"<html><img src=x></html>"),
    "PostScript named .jpg": _with(
        "x.jpg", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(%pipe%touch x) (w) file\n"
    ),
    "a FITS bomb named .png": _with("x.png", b"SIMPLE  =                    T" + b" " * 2850),
    "a pickle named .png": _with("x.png", b"cos\nsystem\n(S'true'\ntR."),
    "a program named .png": _with("x.png", b"\x7fELF" + bytes(100)),
    "a PNG named .jpg": _with("x.jpg", png(8, 8, pixels=zlib.compress(bytes(72)))),
    "a name with a new line": _with("a\nb.png", b"x"),
    "a name of escapes": _with("\x1b[31m\x1b]0;x\x07.png", b"x"),
    "a name of a bidi mark": _with("a\u202egnp.png", b"x"),
    "a name that is no UTF-8": _with(b"\xff\xfe.png", b"x"),
    "a class of escapes": _also(lambda folder: (folder / "dog").rename(folder / "\x1b[31m\u202e\n")),
    "a class that is no UTF-8": _also(lambda folder: (folder / "dog").rename(folder / os.fsdecode(b"\xff\xfe"))),
    "a class called ../x": _also(lambda folder: (folder / "..x").mkdir()),
    "a class of code": _also(lambda folder: (folder / "dog").rename(folder / "');__import__('os')#")),
    "a folder 10,000 deep": _also(_deep),
    "a link back": _also(lambda folder: (folder / "cat" / "back").symlink_to(folder)),
    "a link to itself": _also(lambda folder: (folder / "cat" / "x.png").symlink_to("x.png")),
    "folders that all link to each other": _also(_all_to_all),
    "a link to the root of the system": _also(lambda folder: (folder / "cat" / "x.png").symlink_to("/"))
    if False
    else _also(lambda folder: (folder / "cat" / "x.png").symlink_to("/etc/passwd")),
    "a link to /dev/zero": _also(lambda folder: (folder / "cat" / "x.png").symlink_to("/dev/zero")),
    "a link to the memory of the process": _also(
        lambda folder: (folder / "cat" / "x.png").symlink_to("/proc/self/mem")
    ),
    "a pipe": _also(lambda folder: os.mkfifo(folder / "cat" / "x.png")),
    "a sparse terabyte": _also(_sparse),
    "a file as a class": _also(lambda folder: (folder / "x").write_bytes(b"")),
}


def _idx(images: bytes, labels: bytes, packed: bool = False) -> Build:
    def build(folder: Path) -> None:
        folder.mkdir(parents=True)
        for name, data in (("train-images-idx3-ubyte", images), ("train-labels-idx1-ubyte", labels)):
            (folder / f"{name}{'.gz' if packed else ''}").write_bytes(data)

    return build


def _images(count: int, rows: int, columns: int, data: bytes = b"") -> bytes:
    return struct.pack(">4I", 0x803, count, rows, columns) + data


def _labels(count: int, data: bytes = b"") -> bytes:
    return struct.pack(">2I", 0x801, count) + data


def _hole(folder: Path) -> None:
    """2^31 samples, in a file of that very size which holds nothing."""
    _idx(_images(1 << 31, 28, 28), _labels(1 << 31))(folder)
    os.truncate(folder / "train-images-idx3-ubyte", 16 + (1 << 31) * 784)
    os.truncate(folder / "train-labels-idx1-ubyte", 8 + (1 << 31))


_FOUR = _labels(4, bytes([0, 1, 0, 1]))
_GZIP = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"

IDX: dict[str, Build] = {
    "2^31 samples promised": _idx(_images(1 << 31, 28, 28), _FOUR),
    "2^96 pixels promised": _idx(_images((1 << 32) - 1, (1 << 32) - 1, (1 << 32) - 1), _FOUR),
    "2^31 samples of nothing": _hole,
    "2^31 samples promised, packed": _idx(gzip.compress(_images(1 << 31, 28, 28)), gzip.compress(_FOUR), packed=True),
    "a bomb of 64 GB, packed": _idx(
        gzip.compress(_images(1 << 16, 1024, 1024)) + _GZIP + bomb(1 << 36), gzip.compress(_FOUR), packed=True
    ),
    "4 samples promised, 4 GB packed": _idx(
        gzip.compress(_images(4, 2, 2)) + _GZIP + bomb(1 << 32), gzip.compress(_FOUR), packed=True
    ),
    "cut gzip": _idx(gzip.compress(_images(4, 2, 2, bytes(16)))[:-9], gzip.compress(_FOUR), packed=True),
    "no pixels": _idx(_images(4, 0, 0), _FOUR),
    "other counts": _idx(_images(3, 2, 2, bytes(12)), _FOUR),
    "labels of one class": _idx(_images(4, 2, 2, bytes(16)), _labels(4, bytes(4))),
    "a text": _idx(b"hello", b"world"),
    "nothing": _idx(b"", b""),
}
