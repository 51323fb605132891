"""What networks for images ask of their samples."""

from __future__ import annotations

from training.errors import InputError


def require_images(network: str, shape: tuple[int, ...], smallest_side: int = 1) -> tuple[int, int, int]:
    """``shape`` as (channels, height, width); InputError when samples are no images or smaller than the network takes."""
    if len(shape) != 3:
        raise InputError(
            f"model: {network} needs images, but these samples have the shape {_words(shape)}; choose mlp, or a dataset "
            "of images."
        )
    channels, height, width = shape
    if min(height, width) < smallest_side:
        raise InputError(
            f"model: {network} needs images of at least {smallest_side} x {smallest_side} pixels, but these have "
            f"{height} x {width}; choose larger images or another model."
        )
    return channels, height, width


def _words(shape: tuple[int, ...]) -> str:
    return " x ".join(str(size) for size in shape) or "of a single number"
