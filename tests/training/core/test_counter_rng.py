"""The counter-based random functions: exact against published vectors and numpy's unsigned arithmetic, and random enough."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
import torch

from training.core import counter_rng

SEEDS = (0, 1, 12345, 2**31 - 1)
N = 100_000


def reference(key: int, positions: np.ndarray) -> np.ndarray:
    """SplitMix64 as published, in numpy's uint64."""
    with np.errstate(over="ignore"):
        return scramble(np.uint64(key) + (positions.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))


def scramble(z: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def unsigned(values: torch.Tensor) -> np.ndarray:
    return values.cpu().numpy().view(np.uint64)


@pytest.mark.parametrize(
    ("seed", "published"),
    [
        # Vigna's splitmix64.c, the vectors used by Java, Rust (rand_xoshiro) and Rosetta Code.
        (
            1234567,
            [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821],
        ),
        (0, [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]),
    ],
)
def test_published_vectors(seed: int, published: list[int]) -> None:
    states = seed + (torch.arange(len(published)) + 1) * counter_rng.GOLDEN_GAMMA
    assert unsigned(counter_rng.finalize(states)).tolist() == published


@pytest.mark.parametrize("seed", [*SEEDS, -1, 2**63 - 1, 2**63, 2**64 - 1, 0xDEADBEEFCAFEF00D])
@pytest.mark.parametrize("epoch", [0, 1, 10**6])
def test_equals_unsigned_arithmetic(seed: int, epoch: int) -> None:
    key = int.from_bytes(hashlib.sha256(b"flip").digest()[:8], "little")
    for part in (seed, epoch):
        key = int(scramble(np.array([(key + part * 0x9E3779B97F4A7C15) % 2**64], np.uint64))[0])
    positions = np.concatenate([np.arange(10_000), np.array([2**31, 2**40, 2**62, 2**63 - 1])])
    found = counter_rng.random_bits(seed, "flip", epoch, torch.from_numpy(positions))
    assert np.array_equal(unsigned(found), reference(key, positions))


def test_uniform_and_integers_are_the_top_bits() -> None:
    indices = torch.arange(1000)
    word = unsigned(counter_rng.random_bits(7, "flip", 3, indices))
    assert np.array_equal(
        counter_rng.uniform(7, "flip", 3, indices).numpy(), (word >> np.uint64(40)) / np.float32(2**24)
    )
    expected = ((word >> np.uint64(32)) * np.uint64(9)) >> np.uint64(32)
    assert counter_rng.integers(7, "flip", 3, indices, 9).tolist() == expected.tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_uniform_is_uniform(seed: int) -> None:
    values = counter_rng.uniform(seed, "test", 0, torch.arange(N))
    assert values.dtype == torch.float32
    assert values.min() >= 0.0
    assert values.max() < 1.0
    counts = torch.bincount((values * 100).long(), minlength=100).double()
    chi_square = float(((counts - N / 100) ** 2 / (N / 100)).sum())
    assert 40 < chi_square < 180  # 99 degrees of freedom: mean 99, standard deviation 14


@pytest.mark.parametrize("high", [1, 2, 9, 81, 1000])
def test_integers_are_uniform(high: int) -> None:
    values = counter_rng.integers(11, "test", 4, torch.arange(N), high)
    counts = torch.bincount(values, minlength=high).double()
    assert counts.numel() == high
    chi_square = float(((counts - N / high) ** 2 / (N / high)).sum())
    freedom = high - 1
    assert abs(chi_square - freedom) <= 6 * (2 * freedom) ** 0.5


def test_the_largest_range_stays_inside() -> None:
    values = counter_rng.integers(1, "test", 0, torch.arange(N), 2**31)
    assert int(values.min()) >= 0
    assert int(values.max()) < 2**31
    assert int(values.max()) > 2**31 * 0.999


def test_seeds_epochs_streams_and_neighbors_are_uncorrelated() -> None:
    indices = torch.arange(N)
    base = counter_rng.uniform(0, "flip", 0, indices)
    others = [counter_rng.uniform(seed, "flip", 0, indices) for seed in (1, 2, 2**31 - 1)]
    others += [counter_rng.uniform(0, "flip", epoch, indices) for epoch in (1, 2, 1000)]
    others += [counter_rng.uniform(0, stream, 0, indices) for stream in ("order", "flip ", "")]
    others += [counter_rng.uniform(1, "flip", 1, indices), base.roll(1), base.roll(1000)]
    for other in others:
        correlation = float(torch.corrcoef(torch.stack([base, other]))[0, 1])
        assert abs(correlation) < 5 / N**0.5
        assert float((base == other).double().mean()) < 1e-3


def test_a_draw_depends_on_its_index_alone() -> None:
    whole = counter_rng.uniform(5, "flip", 2, torch.arange(1000))
    some = torch.tensor([999, 0, 17, 17])
    assert torch.equal(counter_rng.uniform(5, "flip", 2, some), whole[some])
    assert torch.equal(counter_rng.uniform(5, "flip", 2, some.view(2, 2)), whole[some].view(2, 2))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 1000])
def test_permutation_holds_every_number_once(n: int) -> None:
    order = counter_rng.permutation(3, 1, n)
    assert order.dtype == torch.int64
    assert sorted(order.tolist()) == list(range(n))


def test_permutations_differ_and_favor_no_place() -> None:
    assert not torch.equal(counter_rng.permutation(0, 0, 1000), counter_rng.permutation(0, 1, 1000))
    assert not torch.equal(counter_rng.permutation(0, 0, 1000), counter_rng.permutation(1, 0, 1000))
    assert not torch.equal(counter_rng.permutation(0, 0, 1000), counter_rng.permutation(0, 0, 1000, stream="split"))
    firsts = torch.tensor([int(counter_rng.permutation(seed, 0, 10)[0]) for seed in range(5000)])
    counts = torch.bincount(firsts, minlength=10).double()
    assert float(((counts - 500) ** 2 / 500).sum()) < 30  # 9 degrees of freedom


def test_the_global_generators_are_left_alone() -> None:
    before = torch.get_rng_state()
    counter_rng.permutation(0, 0, 100)
    counter_rng.uniform(0, "flip", 0, torch.arange(5))
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("seed", SEEDS)
def test_the_gpu_draws_the_same_bits(seed: int) -> None:
    indices = torch.arange(N)
    for draw in (counter_rng.random_bits, counter_rng.uniform):
        assert torch.equal(draw(seed, "flip", 1, indices), draw(seed, "flip", 1, indices.cuda()).cpu())
    assert torch.equal(counter_rng.permutation(seed, 1, N), counter_rng.permutation(seed, 1, N, "cuda").cpu())
