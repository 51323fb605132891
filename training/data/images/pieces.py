"""A piece: what became of some files. Processes without torch make them, too."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from training.data.images.decode import DifferentSize, Form, Unusable, outcome
from training.data.images.files import Files


@dataclass
class Piece:
    """What became of consecutive files. ``pixels`` (n, H, W, C) has a row for each file, broken ones included, if wanted."""

    digests: list[bytes] = field(default_factory=list)
    """Of the good files only."""
    reasons: list[str] = field(default_factory=list)
    """ "" for a good file."""
    pixels: NDArray[np.uint8] | None = None
    other_size: bool = False


def read_piece(files: Files, form: Form, keep: bool) -> Piece:
    """Decode all ``files``, with pixels if ``keep`` says so; stops at the first of another size."""
    piece = Piece(pixels=np.empty((len(files), *form.pixels), np.uint8) if keep else None)
    for row in range(len(files)):
        became = outcome(files[row], form)
        if isinstance(became, DifferentSize):
            piece.other_size = True
            break
        if isinstance(became, Unusable):
            piece.reasons.append(str(became))
            continue
        pixels, digest = became
        piece.digests.append(digest)
        piece.reasons.append("")
        if piece.pixels is not None:
            piece.pixels[row] = pixels
    return piece
