"""Every kind of image file becomes the pixels a person would see."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.training.data.conftest import image
from training.data.images.decode import MAX_PIXELS, DifferentSize, Form, Unusable, outcome, own_size

OWN = Form(16, 16, 3, fit=False)
GRAY = Form(16, 16, 1, fit=False)


def decode(path: Path, form: Form) -> np.ndarray:
    """Its pixels; raises what stands in their place."""
    became = outcome(path, form)
    if not isinstance(became, tuple):
        raise became
    return became[0]


def decoded(path: Path, form: Form = OWN) -> np.ndarray:
    pixels = decode(path, form)
    assert pixels.dtype == np.uint8
    assert pixels.shape == form.pixels
    return pixels.astype(int)


def seen(seed: int = 1) -> np.ndarray:
    return np.asarray(image(seed)).astype(int)


@pytest.mark.parametrize("suffix", ["png", "bmp", "tif", "webp", "ppm", "gif", "jpg"])
def test_formats(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"image é ü.{suffix}"
    image(1).save(
        path,
        **({"quality": 100, "subsampling": 0} if suffix == "jpg" else {"lossless": True} if suffix == "webp" else {}),
    )
    tolerance = {"jpg": 12, "gif": 60}.get(suffix, 0)
    assert np.abs(decoded(path) - seen()).mean() <= tolerance / 3
    assert np.abs(decoded(path) - seen()).max() <= tolerance * 3


def test_a_gif_shows_its_first_frame(tmp_path: Path) -> None:
    frames = [Image.new("RGB", (16, 16), color) for color in ("red", "blue")]
    frames[0].save(tmp_path / "a.gif", save_all=True, append_images=frames[1:])
    assert (decoded(tmp_path / "a.gif") == [255, 0, 0]).all()


def test_a_cmyk_jpeg_keeps_its_colors(tmp_path: Path) -> None:
    Image.new("RGB", (16, 16), (200, 40, 90)).convert("CMYK").save(tmp_path / "a.jpg", quality=100)
    assert np.abs(decoded(tmp_path / "a.jpg") - [200, 40, 90]).max() <= 4


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_sixteen_bits_are_scaled_not_clipped(tmp_path: Path, suffix: str) -> None:
    wide = np.linspace(0, 65535, 256).round().astype(np.uint16).reshape(16, 16)
    Image.fromarray(wide).save(tmp_path / f"a.{suffix}")
    assert decoded(tmp_path / f"a.{suffix}", GRAY)[..., 0].ravel().tolist() == list(range(256))
    assert decoded(tmp_path / f"a.{suffix}")[..., 2].ravel().tolist() == list(range(256))


def test_what_is_transparent_becomes_white(tmp_path: Path) -> None:
    palette = Image.new("P", (16, 16), 0)
    palette.putpalette([10, 20, 30, 200, 0, 0])
    palette.paste(1, (0, 0, 8, 16))
    palette.save(tmp_path / "palette.png", transparency=0)
    palette.save(tmp_path / "palette bytes.png", transparency=bytes([0, 255]))
    half = Image.new("RGBA", (16, 16), (0, 0, 0, 0))
    half.paste((200, 0, 0, 255), (0, 0, 8, 16))
    half.save(tmp_path / "rgba.png")
    for name in ("palette.png", "palette bytes.png", "rgba.png"):
        pixels = decoded(tmp_path / name)
        assert (pixels[:, :8] == [200, 0, 0]).all()
        assert (pixels[:, 8:] == 255).all()
    gray = Image.new("LA", (16, 16), (50, 128))
    gray.save(tmp_path / "la.png")
    assert np.abs(decoded(tmp_path / "la.png", GRAY) - 152).max() <= 1


def test_black_and_white_and_gray(tmp_path: Path) -> None:
    bits = Image.fromarray(np.indices((16, 16)).sum(0) % 2 == 0)
    bits.save(tmp_path / "bits.png")
    assert decoded(tmp_path / "bits.png", GRAY)[0, :2, 0].tolist() == [255, 0]
    image(1).convert("L").save(tmp_path / "gray.png")
    pixels = decoded(tmp_path / "gray.png")
    assert (pixels == pixels[..., :1]).all()


@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_cameras_orientation_is_honored(tmp_path: Path, orientation: int) -> None:
    """The file holds the image as the sensor saw it; every viewer shows it upright."""
    upright = Image.new("RGB", (24, 16), "blue")
    upright.paste("red", (0, 0, 8, 8))
    undo = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }
    stored = upright.transpose(undo[orientation]) if orientation in undo else upright
    exif = Image.Exif()
    exif[0x0112] = orientation
    for name in ("a.jpg", "a.png"):
        stored.save(tmp_path / name, exif=exif, quality=100, subsampling=0)  # PNG ignores the last two
        assert own_size(tmp_path / name) == (16, 24)
        pixels = decoded(tmp_path / name, Form(16, 24, 3, fit=False))
        assert pixels[4, 4, 0] > 200
        assert pixels[4, 4, 2] < 60
        for corner in (pixels[12, 4], pixels[4, 20], pixels[12, 20]):
            assert corner[2] > 200
            assert corner[0] < 60


def test_fit_scales_the_shorter_side_and_cuts_the_longer_evenly(tmp_path: Path) -> None:
    wide = Image.new("RGB", (64, 32), "blue")
    wide.paste("red", (16, 0, 48, 32))  # exactly the middle square
    for name in ("a.png", "a.jpg"):
        wide.save(tmp_path / name)
        pixels = decoded(tmp_path / name, Form(8, 8, 3, fit=True))
        assert np.abs(pixels - [255, 0, 0])[:, 1:-1].max() <= 12


def test_fit_averages_what_it_shrinks(tmp_path: Path) -> None:
    """Single black and white columns become gray; picking pixels would leave them black or white."""
    stripes = np.tile(np.array([0, 255], dtype=np.uint8), (128, 64))
    for name in ("a.png", "a.jpg"):
        Image.fromarray(stripes).save(tmp_path / name, quality=100)  # which PNG ignores
        pixels = decoded(tmp_path / name, Form(16, 16, 1, fit=True))
        assert np.abs(pixels - 127.5).max() < 20


def test_small_images_are_enlarged(tmp_path: Path) -> None:
    image(1, (5, 9)).save(tmp_path / "a.png")
    decoded(tmp_path / "a.png", Form(32, 32, 3, fit=True))


def test_another_size_than_expected_is_told(tmp_path: Path) -> None:
    image(1, (17, 16)).save(tmp_path / "a.png")
    with pytest.raises(DifferentSize):
        decode(tmp_path / "a.png", OWN)


def jpeg() -> bytes:
    stream = io.BytesIO()
    image(1).save(stream, "JPEG")
    return stream.getvalue()


def png() -> bytes:
    stream = io.BytesIO()
    image(1).save(stream, "PNG")
    return stream.getvalue()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"this is a text\n" * 100, "not an image"),
        (jpeg()[: len(jpeg()) // 2], "damaged"),
        (jpeg()[:30], "damaged|not an image"),
        (png()[: len(png()) // 2], "damaged"),
        (png()[:40], "not an image"),
        (png()[:60] + b"\0\0\0\0" + png()[64:], "damaged"),
        (b"GIF89a" + b"\xff" * 50, "damaged|not an image"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n", "not an image"),
    ],
)
def test_broken_files_have_a_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "a.jpg").write_bytes(content)
    for form in (OWN, Form(8, 8, 3, fit=True)):
        with pytest.raises(Unusable, match=reason):
            decode(tmp_path / "a.jpg", form)


def test_a_decompression_bomb_is_not_unpacked(tmp_path: Path) -> None:
    side = int(MAX_PIXELS**0.5) + 1
    Image.new("1", (side, side)).save(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size < 100_000
    with pytest.raises(Unusable, match="million pixels"):
        decode(tmp_path / "a.png", OWN)


def test_float_pixels_have_no_range(tmp_path: Path) -> None:
    Image.fromarray(np.linspace(0, 1, 256, dtype=np.float32).reshape(16, 16)).save(tmp_path / "a.tif")
    with pytest.raises(Unusable, match="brightness range"):
        decode(tmp_path / "a.tif", OWN)
    Image.fromarray(np.full((16, 16), 10**6, dtype=np.int32)).save(tmp_path / "b.tif")
    with pytest.raises(Unusable, match="brightness range"):
        decode(tmp_path / "b.tif", OWN)
