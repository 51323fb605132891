"""Variation: the right images, drawn for each sample alone."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from training.config.sections.data.dataset import ShapesDataset
from training.config.sections.data.toys import SpiralDataset
from training.data.augment import Augmenter, gather_pixels, rotate


def augmenter(seed: int = 0, **settings: Any) -> Augmenter:
    return Augmenter(ShapesDataset.model_validate(settings), seed)


def images(n: int, height: int = 9, width: int = 7, channels: int = 3) -> Tensor:
    generator = torch.Generator().manual_seed(n)
    return torch.randint(0, 256, (n, height, width, channels), dtype=torch.uint8, generator=generator)


ALL = {"flip": True, "crop_padding": 2, "rotation": 15.0}


def test_nothing_chosen_costs_nothing() -> None:
    batch = images(4)
    assert augmenter().identity
    assert augmenter()(batch, torch.arange(4), 0) is batch
    assert Augmenter(SpiralDataset(), 0).identity


@pytest.mark.parametrize("channels", [1, 3])
def test_flip_mirrors_about_half(channels: int) -> None:
    batch = images(400, channels=channels)
    varied = augmenter(flip=True)(batch, torch.arange(400), 0)
    mirrored = (varied == batch.flip(2)).flatten(1).all(1)
    same = (varied == batch).flatten(1).all(1)
    assert bool((mirrored ^ same).all())
    assert 150 < int(mirrored.sum()) < 250


@pytest.mark.parametrize("padding", [1, 4, 20])
def test_shift_is_pad_and_crop(padding: int) -> None:
    batch = images(600)
    varied = augmenter(crop_padding=padding)(batch, torch.arange(600), 0)
    rows, columns = (
        torch.minimum(places, 2 * size - 1 - places)
        for size in (9, 7)
        for places in [torch.arange(-padding, size + padding) % (2 * size)]
    )
    padded = batch[:, rows][:, :, columns]
    seen: set[tuple[int, ...]] = set()
    for number in range(600):
        cuts = padded[number].unfold(0, 9, 1).unfold(1, 7, 1)  # (down, across, channels, 9, 7)
        places = (cuts == varied[number].permute(2, 0, 1)).flatten(2).all(2).nonzero().tolist()
        assert places
        seen.update(map(tuple, places))
    if padding < 20:
        assert len(seen) == (2 * padding + 1) ** 2
    else:
        assert len(seen) > 300


@pytest.mark.parametrize("settings", [{"flip": True}, {"crop_padding": 3}, {"rotation": 20.0}, ALL])
@pytest.mark.parametrize("channels", [1, 3])
def test_a_sample_is_varied_the_same_in_any_company(settings: dict[str, Any], channels: int) -> None:
    batch = images(130, channels=channels)
    varied = augmenter(seed=3, **settings)
    whole = varied(batch, torch.arange(130), 5)
    for some in ([0], [129], [7, 7, 3], list(range(129, -1, -1)), list(range(0, 130, 3))):
        assert torch.equal(varied(batch[some], torch.tensor(some), 5), whole[some])
    assert not torch.equal(whole, varied(batch, torch.arange(130), 6))
    assert not torch.equal(whole, augmenter(seed=4, **settings)(batch, torch.arange(130), 5))
    assert not torch.equal(whole, varied(batch, torch.arange(1, 131), 5))


def test_quarter_turns_are_exact() -> None:
    batch = images(2, 8, 8)
    for quarter in range(4):
        turned = rotate(batch, torch.full((2,), quarter * math.pi / 2, dtype=torch.float64))
        assert turned.dtype == torch.float32
        assert torch.allclose(turned, batch.float().rot90(quarter, (1, 2)), atol=0.05)


def test_a_turned_image_is_bilinear_and_keeps_its_proportions() -> None:
    """A ramp is a plane: turned, it is the plane of the turned slope, also where the image is not square."""
    y, x = torch.meshgrid(torch.arange(20.0), torch.arange(30.0), indexing="ij")
    ramp = (3 * x + 2 * y).to(torch.uint8).view(1, 20, 30, 1)
    angle = 0.3
    turned = rotate(ramp, torch.tensor([angle], dtype=torch.float64))[0, 5:15, 8:22, 0]
    across = (turned[:, 1:] - turned[:, :-1]).mean()
    down = (turned[1:] - turned[:-1]).mean()
    assert float(across) == pytest.approx(3 * math.cos(angle) + 2 * math.sin(angle), abs=1e-3)
    assert float(down) == pytest.approx(-3 * math.sin(angle) + 2 * math.cos(angle), abs=1e-3)


def test_turning_invents_no_black_corners() -> None:
    white = torch.full((50, 12, 12, 3), 255, dtype=torch.uint8)
    assert float(augmenter(rotation=45.0)(white, torch.arange(50), 0).min()) > 254.9


def test_angles_stay_within_the_limit_and_use_it() -> None:
    """The angle is read back from where the image of a direction went."""
    side = 33
    y, x = torch.meshgrid(torch.arange(side) - 16.0, torch.arange(side) - 16.0, indexing="ij")
    spot = (255 * torch.exp(-((x - 10) ** 2 + y**2) / 8)).to(torch.uint8).view(1, side, side, 1)
    turned = augmenter(rotation=30.0)(spot.expand(300, -1, -1, -1), torch.arange(300), 0)[..., 0]
    weight = turned.sum((1, 2))
    angles = torch.rad2deg(torch.atan2((turned * y).sum((1, 2)) / weight, (turned * x).sum((1, 2)) / weight))
    assert float(angles.abs().max()) < 31
    assert float(angles.max()) > 27
    assert float(angles.min()) < -27
    assert abs(float(angles.mean())) < 4


def test_gather_takes_each_pixel_from_where_it_is_told() -> None:
    batch = images(3, 5, 4)
    rows = torch.tensor([[4, 3, 2, 1, 0]] * 3)
    columns = torch.tensor([[0, 1, 2, 3], [3, 2, 1, 0], [1, 1, 1, 1]])
    moved = gather_pixels(batch, rows, columns)
    for number in range(3):
        assert torch.equal(moved[number], batch[number][rows[number]][:, columns[number]])


def test_rotation_agrees_with_torchs_affine_grid() -> None:
    batch = images(4, 16, 16)
    angles = torch.tensor([0.1, -0.4, 1.0, 2.5], dtype=torch.float64)
    cosine, sine = angles.cos().float(), angles.sin().float()
    zero = torch.zeros(4)
    matrix = torch.stack([torch.stack([cosine, -sine, zero], 1), torch.stack([sine, cosine, zero], 1)], 1)
    grid = functional.affine_grid(matrix, [4, 3, 16, 16], align_corners=False)
    expected = functional.grid_sample(
        batch.permute(0, 3, 1, 2).float(), grid, padding_mode="reflection", align_corners=False
    )
    assert torch.allclose(rotate(batch, angles), expected.permute(0, 2, 3, 1), atol=0.05)
