"""Mean and spread: exact, floored, and the same numbers whichever way they are applied."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.training.known_facts import sample_facts
from training.data.normalize import Normalization, measure
from training.errors import InputError


def images(n: int, channels: int = 3) -> torch.Tensor:
    return torch.randint(0, 256, (n, 6, 5, channels), dtype=torch.uint8, generator=torch.Generator().manual_seed(n))


def test_images_are_measured_per_channel_on_the_scale_of_0_to_1() -> None:
    store = images(300)
    store[..., 1] //= 3
    train = torch.arange(0, 300, 2)
    normalization = measure(lambda some: store[some], train, sample_facts((3, 6, 5)))
    values = store[train].numpy().reshape(-1, 3).astype(np.float64) / 255
    assert normalization.mean == pytest.approx(values.mean(0).tolist(), rel=1e-12)
    assert normalization.std == pytest.approx(values.std(0).tolist(), rel=1e-12)


def test_vectors_are_measured_per_feature() -> None:
    store = torch.randn(500, 4, generator=torch.Generator().manual_seed(0)) * torch.tensor([1e-3, 1.0, 50.0, 1e6]) + 3
    normalization = measure(lambda some: store[some], torch.arange(500), sample_facts((4,)))
    values = store.numpy().astype(np.float64)
    assert normalization.mean == pytest.approx(values.mean(0).tolist(), rel=1e-9)
    assert normalization.std == pytest.approx(values.std(0).tolist(), rel=1e-9)
    applied = normalization.apply(store)
    assert torch.allclose(applied.mean(0), torch.zeros(4), atol=1e-3)
    assert torch.allclose(applied.std(0), torch.ones(4), atol=1e-2)


def test_at_most_8192_evenly_spaced_samples_are_read() -> None:
    read: list[int] = []

    def reader(some: torch.Tensor) -> torch.Tensor:
        read.extend(some.tolist())
        return images(len(some), 1)

    measure(reader, torch.arange(100_000), sample_facts((1, 6, 5)))
    assert len(read) == len(set(read)) == 8192
    gaps = np.diff(read)
    assert gaps.min() >= 12
    assert gaps.max() <= 13


def test_what_never_changes_is_not_divided_by_zero() -> None:
    black = torch.zeros((10, 4, 4, 1), dtype=torch.uint8)
    normalization = measure(lambda some: black[some], torch.arange(10), sample_facts((1, 4, 4)))
    assert normalization.std == (1 / 255,)
    assert torch.equal(normalization.apply_pixels(black), torch.zeros(10, 4, 4, 1))
    constant = torch.full((10, 2), 1e6)
    normalization = measure(lambda some: constant[some], torch.arange(10), sample_facts((2,)))
    assert torch.allclose(normalization.apply(constant), torch.zeros(10, 2), atol=0.1)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("side", [5, 80])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_both_ways_to_apply_give_the_same_bits(channels: int, side: int, dtype: torch.dtype) -> None:
    numbers = torch.tensor([0.4914, 0.4822, 0.4465])[:channels]
    normalization = Normalization(tuple(numbers.tolist()), tuple((numbers / 2).tolist()))
    batch = torch.randint(0, 256, (4, side, side, channels), generator=torch.Generator().manual_seed(1)).to(dtype)
    before = batch.clone()
    pixels = normalization.apply_pixels(batch)
    first = normalization.apply(batch.permute(0, 3, 1, 2))
    assert torch.equal(pixels.permute(0, 3, 1, 2), first)
    assert torch.equal(batch, before)
    expected = (batch.double() / 255 - numbers) / (numbers / 2)
    assert torch.allclose(pixels.double(), expected, atol=1e-5)


@pytest.mark.parametrize("gap", [False, True])
def test_a_feature_with_an_infinite_number_is_refused_instead_of_wiped(gap: bool) -> None:
    store = torch.ones(20, 3)
    store[7, 1] = torch.inf
    store[2, 2] = torch.nan if gap else 0.0
    with pytest.raises(InputError, match="Feature number 2 of the training samples has no finite mean and std"):
        measure(lambda some: store[some], torch.arange(20), sample_facts((3,)))


def test_all_vectors_are_looked_at() -> None:
    """Every second sample, as evenly spaced ones would be, is not like the others, and one alone has a large number."""
    store = torch.randn(16_384, 2, generator=torch.Generator().manual_seed(0))
    store[1::2, 0] += 1000
    store[5001, 1] = 1e5
    normalization = measure(lambda some: store[some], torch.arange(16_384), sample_facts((2,)))
    values = store.numpy().astype(np.float64)
    assert normalization.mean == pytest.approx(values.mean(0).tolist(), rel=1e-12)
    assert normalization.std == pytest.approx(values.std(0).tolist(), rel=1e-12)


def test_a_gap_that_no_trained_sample_has_becomes_the_mean() -> None:
    store = torch.randn(20_000, 2, generator=torch.Generator().manual_seed(0))
    store[1, 0] = torch.nan
    unseen = measure(lambda some: store[some], torch.arange(2, 20_000), sample_facts((2,)))
    told = measure(lambda some: store[some], torch.arange(2, 20_000), sample_facts((2,)), gaps=True)
    assert (unseen.missing, told.missing) == (False, True)
    assert (told.mean, told.std) == (unseen.mean, unseen.std)
    assert told.apply(store[1:2])[0, 0] == 0
