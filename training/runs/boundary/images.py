"""Images of a decision boundary, drawn with Pillow: the window's save and the command line make the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

from training.errors import InputError
from training.runs.boundary.frames import Boundary, Plane, Points
from training.system.atomic import write_stream
from training.system.untrusted import escape_unprintable

if TYPE_CHECKING:
    from PIL import Image, ImageDraw, ImageFont

    Words = ImageFont.FreeTypeFont | ImageFont.ImageFont

MOST_RATE = 50
"""Frames a second: a GIF tells in hundredths of a second how long each is shown, and viewers slow down below two."""

_SIDE = 560
_PAD, _LINE = 16, 26
_SOFTEST, _STRONGEST = 0.08, 0.62
_MOST_NAMED = 8
_LAST_SECONDS = 2.0

Rgb = tuple[int, int, int]


@dataclass(frozen=True)
class Look:
    """Colors as "#rrggbb"; ``classes`` are used again from the first where there are more classes."""

    ground: str
    text: str
    classes: tuple[str, ...]


LOOK = Look(
    "#ffffff",
    "#171a21",
    ("#2f63d8", "#d07001", "#00856a", "#b84c97", "#3691c5", "#d65035", "#776900", "#5a6272"),
)
"""By day; the window hands over the colors of its own theme."""


def name_frame(step: int, epoch: int) -> str:
    """What is written beside a frame."""
    return f"Epoch {epoch:,}, step {step:,}"


def shade(frame: np.void, classes: int, look: Look) -> NDArray[np.uint8]:
    """(GRID, GRID, 3) colors, rows upward: each place has the color of its class, the stronger the more probable it is. An answer
    that is no better than a guess among ``classes`` is all but the ground."""
    table = np.array([_rgb(look.classes[number % len(look.classes)]) for number in range(classes)], np.float64)
    guess = 1.0 / classes
    sure = np.clip((frame["certainty"] / 255.0 - guess) / (1.0 - guess), 0.0, 1.0)
    share = (_SOFTEST + (_STRONGEST - _SOFTEST) * sure)[..., None]
    ground = np.array(_rgb(look.ground), np.float64)
    return (ground + (table[frame["classes"]] - ground) * share).round().astype(np.uint8)


def draw_frames(boundary: Boundary, look: Look = LOOK) -> Iterator[Image.Image]:
    """An RGB image of each frame: the regions, the points (training filled, validation ringed), which step it is, the classes."""
    from PIL import Image, ImageDraw, ImageFont  # a tenth of a second, paid only where something is drawn

    plane, words = boundary.plane, ImageFont.load_default(15)
    points = _draw_points(plane, look)
    size = (_SIDE + 2 * _PAD, _SIDE + 2 * _PAD + 2 * _LINE)
    for frame in boundary.frames:
        colors = shade(frame, len(plane.names), look)[::-1]
        regions = Image.fromarray(colors).resize((_SIDE, _SIDE), Image.Resampling.BILINEAR)
        regions.paste(points, (0, 0), points)
        image = Image.new("RGB", size, look.ground)
        image.paste(regions, (_PAD, _PAD + _LINE))
        draw = ImageDraw.Draw(image)
        draw.text((_PAD, _PAD - 4), name_frame(int(frame["step"]), int(frame["epoch"])), look.text, words)
        _draw_legend(draw, plane, look, words)
        yield image


def save_animation(boundary: Boundary, path: Path, rate: float, look: Look = LOOK) -> None:
    """Write ``path`` as a GIF of ``rate`` frames a second that begins again and again; the last frame stays for two seconds.
    Raises InputError where that cannot be written."""
    duration = round(1000 / rate)
    images = list(draw_frames(boundary, look))
    durations = [duration] * (len(images) - 1) + [max(duration, round(1000 * _LAST_SECONDS))]

    def write(stream: BinaryIO) -> None:
        images[0].save(stream, "GIF", save_all=True, append_images=images[1:], duration=durations, loop=0)

    try:
        write_stream(path, write)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror or error}); choose another place.") from error


def save_images(boundary: Boundary, folder: Path, look: Look = LOOK) -> list[Path]:
    """Write each frame as ``boundary-step-00000038.png`` into ``folder``, which is made; returns where. Raises InputError where
    that cannot be written."""
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for frame, image in zip(boundary.frames, draw_frames(boundary, look), strict=True):
            path = folder / f"boundary-step-{int(frame['step']):08}.png"
            write_stream(path, partial(image.save, format="PNG"), durable=False)
            written.append(path)
    except OSError as error:
        raise InputError(f"{folder} cannot be written ({error.strerror or error}); choose another place.") from error
    return written


def _draw_points(plane: Plane, look: Look) -> Image.Image:
    """What lies over the regions of every frame, on nothing; drawn at twice the size, for round dots."""
    from PIL import Image, ImageDraw

    layer = Image.new("RGBA", (2 * _SIDE, 2 * _SIDE))
    draw = ImageDraw.Draw(layer)
    for points, kind in ((plane.train, "train"), (plane.validation, "validation")):
        for across, down, number in zip(*_places(points, plane, 2 * _SIDE), points.classes, strict=True):
            color = look.classes[number % len(look.classes)]
            _draw_dot(draw, across, down, kind, color, look, 2.0)
    return layer.resize((_SIDE, _SIDE), Image.Resampling.LANCZOS)


def _places(points: Points, plane: Plane, side: int) -> tuple[list[float], list[float]]:
    (left, right), (bottom, top) = plane.x, plane.y
    across = (np.asarray(points.x) - left) / (right - left) * side
    down = (top - np.asarray(points.y)) / (top - bottom) * side
    return across.tolist(), down.tolist()


def _draw_dot(
    draw: ImageDraw.ImageDraw,
    across: float,
    down: float,
    kind: str,
    color: str,
    look: Look,
    scale: float,
) -> None:
    """Training samples are small filled dots, those of validation larger ones with a ring in the color of the words."""
    radius = scale * (2.2 if kind == "train" else 3.4)
    box = (across - radius, down - radius, across + radius, down + radius)
    if kind == "train":
        draw.ellipse(box, fill=color)
    else:
        draw.ellipse(box, fill=color, outline=look.text, width=round(1.2 * scale))


def _draw_legend(draw: ImageDraw.ImageDraw, plane: Plane, look: Look, words: Words) -> None:
    left, middle = float(_PAD), _PAD + _LINE + _SIDE + _LINE / 2 + 4
    end = _PAD + _SIDE
    entries = [("train", look.text, "training"), ("validation", look.ground, "validation")]
    for number, name in enumerate(plane.names[:_MOST_NAMED]):
        entries.append(("train", look.classes[number % len(look.classes)], escape_unprintable(name, 24)))
    for kind, color, name in entries:
        width = draw.textlength(name, words)
        if left + 12 + width > end:
            break
        _draw_dot(draw, left + 4, middle, kind, color, look, 1.3)
        draw.text((left + 12, middle - 9), name, look.text, words)
        left += 12 + width + 18


def _rgb(color: str) -> Rgb:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)
