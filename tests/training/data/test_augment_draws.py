"""What is drawn: within its bounds, for each sample alone, and the same for an image and its mask."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from training.config.sections.data.dataset import ShapesDataset
from training.data.augment import Augmenter
from training.data.augment.draws import Draws, draws_at, each
from training.data.augment.mixing import beta, draw_partners, mix, mix_targets
from training.data.augment.rectangles import draw_rectangles
from training.data.augment.steps import steps

EACH: dict[str, dict[str, Any]] = {
    "vertical flip": {"vertical_flip": True},
    "shift with black": {"crop_padding": 3, "padding_mode": "zeros", "flip": True, "vertical_flip": True},
    "crop": {"resized_crop_scale": 0.3},
    "affine": {"rotation": 20.0, "translate": 0.2, "affine_scale": 0.3, "shear": 15.0},
    "affine with black": {"rotation": 20.0, "translate": 0.2, "padding_mode": "zeros"},
    "perspective": {"perspective": 0.5},
    "rand augment": {"auto_augment": "rand_augment"},
    "trivial augment": {"auto_augment": "trivial_augment_wide"},
    "jitter": {"brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1},
    "grey": {"grayscale": 0.5},
    "blur": {"blur": 0.5},
    "rotation, then color": {"rotation": 20.0, "brightness": 0.4},
}
EVERYTHING = {name: value for settings in EACH.values() for name, value in settings.items()}
COLORS = ("jitter", "grey", "blur")


def augmenter(seed: int = 0, *, mask: bool = False, **settings: Any) -> Augmenter:
    return Augmenter(ShapesDataset.model_validate(settings), seed, mask=mask)


def images(count: int, channels: int = 3) -> Tensor:
    generator = torch.Generator().manual_seed(count)
    return torch.randint(0, 256, (count, 13, 11, channels), dtype=torch.uint8, generator=generator)


def draws(count: int, seed: int = 0, epoch: int = 0) -> Draws:
    return Draws(seed, epoch, torch.arange(count), torch.arange(count))


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("settings", [*EACH.values(), EVERYTHING], ids=[*EACH, "everything"])
@pytest.mark.parametrize("channels", [1, 3])
def test_a_sample_is_varied_the_same_in_any_company(settings: dict[str, Any], channels: int, mask: bool) -> None:
    batch = images(67, channels + mask)
    varied = augmenter(seed=3, mask=mask, **settings)
    kept = batch.clone()
    whole = varied(batch, torch.arange(67), 5)
    assert torch.equal(batch, kept)
    for some in ([0], [66], [7, 7, 3], list(range(66, -1, -1)), list(range(0, 67, 3))):
        assert torch.equal(varied(batch[some], torch.tensor(some), 5), whole[some])
    if channels == 3 or settings.keys() != {"grayscale"}:
        assert not torch.equal(whole, batch)
        assert not torch.equal(whole, varied(batch, torch.arange(67), 6))
        assert not torch.equal(whole, augmenter(seed=4, mask=mask, **settings)(batch, torch.arange(67), 5))


@pytest.mark.parametrize(
    "settings",
    [settings for name, settings in EACH.items() if name not in COLORS],
    ids=[n for n in EACH if n not in COLORS],
)
def test_a_mask_goes_where_its_image_goes(settings: dict[str, Any]) -> None:
    """The image is 200 where the class is 1 and 40 where it is 0, so that each pixel tells its class."""
    classes = torch.zeros(40, 32, 32, dtype=torch.uint8)
    classes[:, 5:20, 8:25] = 1
    classes[:, 22:28, 2:9] = 1
    batch = torch.stack([40 + 160 * classes, classes], 3)
    geometry = {name: value for name, value in settings.items() if name != "brightness"}
    varied = augmenter(mask=True, **geometry)(batch, torch.arange(40), 0)
    assert varied.dtype == torch.uint8
    assert set(varied[..., 1].unique().tolist()) <= {0, 1, 255}
    if "auto_augment" in settings:  # colors change, too; then at least the classes do not become others
        return
    assert not torch.equal(varied[..., 1], classes)
    assert (255 in varied[..., 1]) == ("padding_mode" in settings)
    clear = (varied[..., 0] == 40) | (varied[..., 0] == 200)  # the others are edges, mixed of both
    assert float(clear.float().mean()) > 0.5
    known = clear & (varied[..., 1] != 255)
    assert torch.equal(varied[..., 1][known], (varied[..., 0][known] == 200).to(torch.uint8))
    if 255 in varied[..., 1]:
        assert int(varied[..., 0][varied[..., 1] == 255].max()) <= 100  # black, or half of the pixel beside it


def test_colors_leave_a_mask_alone() -> None:
    batch = images(60, 4)
    settings = {name: value for key in COLORS for name, value in EACH[key].items()}
    varied = augmenter(mask=True, **settings)(batch, torch.arange(60), 0)
    assert torch.equal(varied[..., 3], batch[..., 3])
    assert not torch.equal(varied[..., :3], batch[..., :3])
    alone = augmenter(**settings)(batch[..., :3].contiguous(), torch.arange(60), 0)
    assert torch.equal(varied[..., :3], alone)


def test_rectangles_keep_their_bounds_and_use_them() -> None:
    found = draw_rectangles(draws(4000), "crop", (60, 40), (0.2, 1.0), (3 / 4, 4 / 3), whole=True)
    top, left, height, width = found.unbind(1)
    assert int(top.min()) == 0
    assert int((top + height).max()) == 60
    assert int(left.min()) == 0
    assert int((left + width).max()) == 40
    share, ratio = height * width / 2400, width / height
    assert 0.19 < float(share.min()) < 0.21
    assert float(share.max()) > 0.8
    assert 0.72 < float(ratio.min()) < 0.77
    assert 1.27 < float(ratio.max()) < 1.37
    small = share < 0.4  # these fit nearly always: their ratio is uniform in its logarithm
    assert abs(float(ratio[small].log().mean())) < 0.02
    assert float((top[small] < 5).float().mean()) > 0.05


def test_what_never_fits_becomes_the_middle() -> None:
    found = draw_rectangles(draws(50), "crop", (10, 100), (0.9, 1.0), (3 / 4, 4 / 3), whole=True)
    assert torch.equal(found, torch.tensor([[0, 43, 10, 13]]).expand(50, 4))


def test_erasing_covers_a_rectangle_of_some() -> None:
    batch = torch.rand(600, 24, 30, 3)
    erased = augmenter(erasing=0.25).erase(batch, torch.arange(600), 2)
    holes = (erased == 0).all(3)
    chosen = holes.any(2).any(1)
    assert 0.18 < float(chosen.float().mean()) < 0.32
    assert torch.equal(erased[~holes], batch[~holes])
    for hole in holes[chosen]:
        rows, columns = hole.any(1), hole.any(0)
        assert torch.equal(hole, rows.unsqueeze(1) & columns.unsqueeze(0))
        assert 0.01 < float(hole.float().mean()) < 0.36
    some = torch.tensor([5, 99, 300])
    assert torch.equal(augmenter(erasing=0.25).erase(batch[some], some, 2), erased[some])
    assert augmenter().erase(batch, torch.arange(600), 2) is batch


LEVELS = torch.arange(0, 1, 1 / 64, dtype=torch.float64)


def test_beta_of_one_is_uniform() -> None:
    assert torch.allclose(beta(LEVELS, 1.0), LEVELS, atol=1e-12)


def test_beta_of_a_half_is_the_arcsine_law() -> None:
    assert torch.allclose(beta(LEVELS, 0.5), torch.sin(LEVELS * math.pi / 2) ** 2, atol=1e-7)


@pytest.mark.parametrize("alpha", [2.0, 3.0])
def test_beta_of_a_whole_number_inverts_its_polynomial(alpha: float) -> None:
    x = beta(LEVELS, alpha)
    level = 3 * x**2 - 2 * x**3 if alpha == 2.0 else 10 * x**3 - 15 * x**4 + 6 * x**5
    assert torch.allclose(level, LEVELS, atol=1e-7)


@pytest.mark.parametrize("alpha", [0.1, 0.2, 0.4, 1.5, 10.0])
def test_beta_has_its_moments(alpha: float) -> None:
    """Mean one half, variance 1 / (4 (2 alpha + 1)), fourth central moment 3 / (16 (2 alpha + 1) (2 alpha + 3))."""
    levels = (torch.arange(100_000, dtype=torch.float64) + 0.5) / 100_000
    away = beta(levels, alpha) - 0.5
    assert float(away.mean()) == pytest.approx(0.0, abs=1e-9)
    assert float((away**2).mean()) == pytest.approx(1 / (4 * (2 * alpha + 1)), rel=1e-4)
    assert float((away**4).mean()) == pytest.approx(3 / (16 * (2 * alpha + 1) * (2 * alpha + 3)), rel=1e-4)


def test_a_partner_is_another_sample_and_any() -> None:
    places = torch.arange(50)
    met = {
        (place, int(other)) for epoch in range(1000) for place, other in enumerate(draw_partners(1, epoch, places, 50))
    }
    assert all(place != other for place, other in met)
    assert len(met) == 50 * 49
    assert draw_partners(1, 0, torch.zeros(1, dtype=torch.int64), 1).tolist() == [0]
    train = torch.tensor([3, 8, 20, 21, 40])
    chosen = augmenter(mixup_alpha=1.0).partners(train, torch.tensor([40, 3, 8]), 0)
    assert set(chosen.tolist()) <= set(train.tolist())


def test_mixup_is_a_weighted_sum() -> None:
    own, others = torch.rand(300, 6, 5, 3), torch.rand(300, 6, 5, 3)
    mixed, share = mix(own, others, draws(300), mixup_alpha=1.0)
    weight = share.view(-1, 1, 1, 1)
    assert torch.equal(mixed, own * weight + others * (1 - weight))
    assert float(share.min()) < 0.02
    assert float(share.max()) > 0.98
    assert 0.45 < float(share.mean()) < 0.55
    few = torch.tensor([4, 77])
    again, _ = mix(own[few], others[few], draws_at(draws(300), few), mixup_alpha=1.0)
    assert torch.equal(again, mixed[few])


def test_cutmix_pastes_a_rectangle_and_shares_by_area() -> None:
    own, others = torch.zeros(300, 16, 12, 1), torch.ones(300, 16, 12, 1)
    mixed, share = mix(own, others, draws(300), cutmix_alpha=1.0)
    assert set(mixed.unique().tolist()) == {0.0, 1.0}
    assert torch.allclose(share, 1 - mixed.mean((1, 2, 3)), atol=1e-6)
    for pasted in mixed[..., 0].bool():
        assert torch.equal(pasted, pasted.any(1).unsqueeze(1) & pasted.any(0).unsqueeze(0))
    assert float(share.min()) < 0.4
    assert float(share.max()) > 0.95


def test_both_take_about_half() -> None:
    own, others = torch.zeros(400, 8, 8, 1), torch.ones(400, 8, 8, 1)
    mixed, share = mix(own, others, draws(400), mixup_alpha=1.0, cutmix_alpha=1.0)
    pasted = ((mixed == 0) | (mixed == 1)).all(3).all(2).all(1)
    assert 150 < int(pasted.sum()) < 250
    assert torch.allclose(share, 1 - mixed.mean((1, 2, 3)), atol=1e-6)


def test_targets_are_mixed_in_the_same_shares() -> None:
    share = torch.tensor([0.25, 1.0])
    classes = mix_targets(torch.tensor([2, 0]), torch.tensor([1, 1]), share, 3)
    assert torch.equal(classes, torch.tensor([[0.0, 0.75, 0.25], [1.0, 0.0, 0.0]]))
    same = mix_targets(torch.tensor([1, 1]), torch.tensor([1, 1]), share, 3)
    assert torch.equal(same, torch.tensor([[0.0, 1.0, 0.0]]).expand(2, 3))
    values = mix_targets(torch.tensor([[4.0], [1.0]]), torch.tensor([[0.0], [9.0]]), share, 1)
    assert torch.equal(values, torch.tensor([[1.0], [1.0]]))


def test_each_number_is_computed_alone() -> None:
    values = torch.linspace(-2, 2, 37, dtype=torch.float64)
    whole = each(math.exp, values)
    assert all(float(each(math.exp, values[place : place + 1])) == float(whole[place]) for place in range(37))
    assert torch.allclose(whole, values.exp(), rtol=1e-15, atol=0)


def test_steps_come_in_the_order_of_torchvisions_recipes() -> None:
    config = ShapesDataset.model_validate({**EVERYTHING, "erasing": 0.1})
    names = [step.function.__name__ for step in steps(config, False)]
    assert names == [
        *("shift_and_flip_zero_padded", "deform", "trivial_augment_wide", "jitter_color", "turn_gray", "blur", "erase"),
    ]


def test_a_few_images_at_a_time_are_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    batch, indices = images(31), torch.arange(31)
    settings = {**EVERYTHING, "auto_augment": "rand_augment"}
    whole = augmenter(**settings)(batch, indices, 0)
    monkeypatch.setattr("training.data.augment.draws.VALUES_AT_ONCE", 4 * 13 * 11 * 3)
    assert torch.equal(augmenter(**settings)(batch, indices, 0), whole)
