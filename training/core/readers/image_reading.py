"""The image files of folders as arrays of bytes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

# What is hidden, and what systems leave behind.
SYSTEM_NAME = re.compile(r"(?is)\..*|(eh)?thumbs\.db|desktop\.ini|icon\r|__macosx|@eadir|\$recycle\.bin")


def read_images(
    roots: dict[str, Path], classes: list[str], endings: list[str], decode: Callable[..., Any], tell: Callable[..., Any]
) -> tuple[Tensor, Tensor, dict[str, Tensor], list[Path]]:
    """Images uint8 (n, H, W, C) as ``decode`` makes them of what Pillow opens, their classes int64 (n,), the numbers of the
    images of each part, and the files. Each part's root has one folder for each class, with files whose names have one of the
    ``endings`` at any depth; ``tell`` hears why one is left out."""
    images, numbers, parts = [], [], {}
    files: list[Path] = []
    for part, root in roots.items():
        first = len(files)
        for path in sorted(root.rglob("*"), key=lambda path: path.parts):
            name, *below = path.relative_to(root).parts
            name = unicodedata.normalize("NFC", name)
            known = name in classes and path.suffix.lower() in endings and not any(map(SYSTEM_NAME.fullmatch, below))
            try:
                if known and path.is_file():
                    with Image.open(path) as image:
                        images.append(decode(image))
                    numbers.append(classes.index(name))
                    files.append(path)
            except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
                tell(f"left out {path}: {error}")  # one broken file must not end the training
        parts[part] = torch.arange(first, len(files))
    if not files:
        raise FileNotFoundError("it holds no images of the classes")
    return torch.from_numpy(np.stack(images)), torch.tensor(numbers), parts, files
