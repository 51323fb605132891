"""Scaling on tensors: what Pillow makes of the same picture, whatever its shape and size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image, ImageOps
from torch import Tensor
from torch.overrides import TorchFunctionMode

from training.data.pillow_resize import Fit

SIZES = [(64, 64), (33, 32), (32, 33), (500, 375), (375, 500), (1200, 400), (1, 7), (9, 1), (16, 200), (640, 480)]


def noise(size: tuple[int, int]) -> NDArray[np.uint8]:
    return np.random.default_rng(size[0]).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)


def by_pillow(pixels: NDArray[np.uint8], wanted: tuple[int, int]) -> NDArray[np.int64]:
    fitted = ImageOps.fit(Image.fromarray(pixels), (wanted[1], wanted[0]), Image.Resampling.BILINEAR)
    return np.asarray(fitted).astype(np.int64)


def by_tensor(pixels: NDArray[np.uint8], wanted: tuple[int, int]) -> NDArray[np.int64]:
    fit = Fit(wanted, torch.device("cpu"))
    return fit(torch.from_numpy(pixels.copy()).permute(2, 0, 1)).permute(1, 2, 0).numpy().astype(np.int64)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("wanted", [(64, 64), (224, 224), (7, 7), (40, 60)])
def test_pillow_would_have_made_the_same_of_it(size: tuple[int, int], wanted: tuple[int, int]) -> None:
    pixels = noise(size)
    expected, got = by_pillow(pixels, wanted), by_tensor(pixels, wanted)
    assert got.shape == expected.shape
    assert np.abs(got - expected).max() <= 1
    # Both go across first, and no box ends between two pixels' halves.
    if size[0] >= size[1] and wanted[0] == wanted[1]:
        assert (got != expected).mean() < 0.001


def test_a_picture_of_the_wanted_size_is_left_as_it_is() -> None:
    pixels = noise((64, 48))
    assert np.array_equal(by_tensor(pixels, (48, 64)), pixels)
    assert np.array_equal(by_tensor(pixels, (48, 48)), pixels[:, 8:56])


class TensorFloat32(TorchFunctionMode):
    """Matrix products as a GPU makes them that keeps 11 bits of each factor, and adds from the other end."""

    def __init__(self) -> None:
        super().__init__()
        self.products = 0

    def __torch_function__(self, function: Any, types: Any, given: Any = (), named: Any = None) -> Any:
        if getattr(function, "__name__", "") not in ("matmul", "__matmul__"):
            return function(*given, **(named or {}))
        self.products += 1
        left, right = (short(factor) for factor in given)
        return left.flip(-1) @ right.flip(-2)


def short(numbers: Tensor) -> Tensor:
    fraction, exponent = torch.frexp(numbers)
    return torch.ldexp((fraction * 2**11).round() / 2**11, exponent)


@pytest.mark.parametrize("size", SIZES)
def test_no_number_format_of_matrix_products_changes_a_bit(size: tuple[int, int]) -> None:
    pixels = noise(size)
    for wanted in ((96, 96), (7, 9)):
        plain = by_tensor(pixels, wanted)
        with TensorFloat32() as gpu:
            assert np.array_equal(by_tensor(pixels, wanted), plain)
        assert gpu.products == 2


def test_pictures_of_one_size_are_scaled_together_as_each_by_itself() -> None:
    fit = Fit((96, 80), torch.device("cpu"))
    several = torch.randint(0, 256, (5, 3, 131, 170), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    together = fit(several)
    assert together.shape == (5, 3, 96, 80)
    for one, alone in zip(together, several, strict=True):
        assert torch.equal(one, fit(alone))
    other_order = several.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    assert torch.equal(fit(other_order), together)
