"""The built-in datasets: balanced, repeatable, and the same image in any company."""

from __future__ import annotations

import pickle

import pytest
import torch

from training.config.sections.data.dataset import ShapesDataset
from training.config.sections.data.toys import SpiralDataset
from training.data.sources import open_source


def test_the_spiral_has_three_arms_about_the_origin() -> None:
    source = open_source(SpiralDataset(samples=3001))
    points = source.read_all()
    assert points.shape == (3001, 2)
    assert points.dtype == torch.float32
    assert torch.bincount(source.targets).tolist() == [1001, 1000, 1000]
    assert float(points.norm(dim=1).max()) <= 1.0 + 1e-6


def test_the_spiral_winds() -> None:
    """Without noise the angle is the turns times the radius, plus the arm's own third."""
    source = open_source(SpiralDataset(samples=300, turns=2.0, noise=0.0))
    points = source.read_all().double()
    angle = torch.atan2(points[:, 1], points[:, 0]) / (2 * torch.pi)
    expected = 2.0 * points.norm(dim=1) + source.targets / 3
    assert float(((angle - expected + 0.5) % 1 - 0.5).abs().max()) < 1e-5


def test_noise_spreads_the_arms() -> None:
    calm, wild = (open_source(SpiralDataset(samples=3000, noise=noise)).read_all() for noise in (0.0, 0.5))
    assert torch.allclose(calm.norm(dim=1), wild.norm(dim=1), atol=1e-5)
    assert float((calm - wild).norm(dim=1).mean()) > 0.1


def test_the_spiral_stays_the_same_for_ever() -> None:
    points = open_source(SpiralDataset()).read(torch.tensor([0, 1, 2999]))
    known = torch.tensor(
        [
            [0.05645965039730072, -0.785261869430542],
            [0.5655407309532166, 0.5614780187606812],
            [0.30208268761634827, 0.2725314199924469],
        ]
    )
    assert torch.allclose(points, known, atol=1e-6)


@pytest.mark.parametrize("side", [16, 32, 65])
def test_shapes_are_the_same_in_any_company(side: int) -> None:
    source = open_source(ShapesDataset(samples=200, image_size=side))
    whole = source.read_all()
    assert whole.shape == (200, side, side, 3)
    assert whole.dtype == torch.uint8
    assert source.shape == (3, side, side)
    for some in (torch.tensor([7]), torch.tensor([199, 3, 3, 50]), torch.arange(199, -1, -1)):
        assert torch.equal(source.read(some), whole[some])
    assert torch.equal(pickle.loads(pickle.dumps(source)).read(torch.arange(200)), whole)


def test_shapes_show_a_shape() -> None:
    """Without noise the shape's color stands out from the ground, in every image."""
    images = open_source(ShapesDataset(samples=120, noise=0.0)).read_all().double()
    assert float(images.flatten(1).std(dim=1).min()) > 10
    assert len({image.numpy().tobytes() for image in images}) == 120


def test_shapes_stay_the_same_for_ever() -> None:
    image = open_source(ShapesDataset()).read(torch.tensor([3]))[0]
    known = torch.tensor([[229, 245, 202], [37, 75, 50], [178, 212, 219]])
    assert int((image[[0, 16, 31], [0, 16, 31]].int() - known).abs().max()) <= 1


@pytest.mark.parametrize("changed", [{"data_seed": 1}, {"noise": 0.2}, {"samples": 120}])
def test_settings_change_fingerprint_and_samples(changed: dict[str, float]) -> None:
    for kind in (ShapesDataset, SpiralDataset):
        first = open_source(kind(samples=60))
        second = open_source(kind.model_validate({"samples": 60} | changed))
        assert first.fingerprint != second.fingerprint
        assert not torch.equal(first.read_all(), second.read_all())
