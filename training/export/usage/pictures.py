"""Read a picture file the way the training data was read: needs numpy and Pillow."""

from typing import Any

import numpy as np
from PIL import Image, ImageOps


def read_picture(facts: dict[str, Any], path: str) -> Any:
    """uint8 (1, channels, height, width): upright, on white, scaled and centre-cropped to the model's size."""
    channels, height, width = facts["input"]["shape"]
    with Image.open(path) as image:
        image.draft(None, (2 * width, 2 * height))  # a large JPEG need not be decoded in full
        picture = ImageOps.exif_transpose(image).convert("RGBA")
    picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)
    picture = picture.convert("RGB" if channels == 3 else "L")
    pixels = np.array(ImageOps.fit(picture, (width, height), Image.Resampling.BILINEAR))
    return pixels.reshape(height, width, channels).transpose(2, 0, 1)[np.newaxis]
