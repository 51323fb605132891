"""How colors are told apart, by the formulas: contrast as WCAG 2.1 counts it, color vision as Machado and others (2009) simulate it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TEXT, DRAWN = 4.5, 3.0
"""The least contrast of text, and of what is drawn."""
VISIONS: dict[str, Floats] = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
"""What becomes of linear red, green and blue."""


def linear(color: str) -> Floats:
    """The light that a screen gives."""
    channels = np.array([part / 255 for part in bytes.fromhex(color.removeprefix("#"))])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(first: str, second: str) -> float:
    """WCAG 2.1 contrast ratio, 1 to 21."""
    low, high = sorted(float(linear(color) @ [0.2126, 0.7152, 0.0722]) for color in (first, second))
    return (high + 0.05) / (low + 0.05)


def lab(light: Floats) -> Floats:
    """Where the eye places it, in CIE Lab under D65."""
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    xyz = np.array(to_xyz) @ light / [0.95047, 1.0, 1.08883]
    x, y, z = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def distance(first: str, second: str, vision: Floats) -> float:
    """How far apart two colors are to somebody who sees so."""
    a, b = (lab(np.clip(vision @ linear(color), 0, 1)) for color in (first, second))
    return float(np.linalg.norm(a - b))
