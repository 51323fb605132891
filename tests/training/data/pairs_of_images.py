"""Small folders of images with masks, made on the spot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

COLORS = ((0, 0, 0), (200, 40, 30), (20, 60, 220))
PARTS = {"train": 12, "val": 6}


def sample(seed: int, size: tuple[int, int] = (20, 26)) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """An image (H, W, 3) of patches in three brightnesses, and the index 0, 1 or 2 of each pixel."""
    generator = np.random.default_rng(seed)
    coarse = generator.integers(0, 3, (4, 4), dtype=np.uint8)
    mask = coarse.repeat(-(-size[0] // 4), 0).repeat(-(-size[1] // 4), 1)[: size[0], : size[1]]
    picture = generator.integers(0, 60, (*size, 3)) + 90 * mask[..., None]
    return picture.astype(np.uint8), mask


def write_pairs(
    root: Path, mode: str = "L", classes: str | None = "sky\nroad\ntree\n", size: tuple[int, int] = (20, 26)
) -> Path:
    """``PARTS`` images with masks in train/images and so on; ``mode`` of the masks: L, P or RGB (``COLORS``)."""
    number = 0
    for part, count in PARTS.items():
        for folder in ("images", "masks"):
            (root / part / folder).mkdir(parents=True)
        for _ in range(count):
            picture, mask = sample(number, size)
            Image.fromarray(picture).save(root / part / "images" / f"{number:03}.png")
            save_mask(root / part / "masks" / f"{number:03}.png", mask, mode)
            number += 1
    if classes is not None:
        (root / "classes.txt").write_text(classes)
    return root


def save_mask(path: Path, mask: NDArray[np.uint8], mode: str = "L") -> None:
    if mode == "RGB":
        Image.fromarray(np.array(COLORS, np.uint8)[mask]).save(path)
        return
    image = Image.fromarray(mask)
    if mode == "P":
        image.putpalette([value for color in COLORS for value in color])
    image.save(path)
