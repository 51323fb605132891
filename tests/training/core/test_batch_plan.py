"""Batches and windows cover an epoch exactly, whatever its size."""

from __future__ import annotations

import pytest
from torch.utils.data import BatchSampler

from training.core.batch_plan import BatchPlan


@pytest.mark.parametrize("batch_size", [1, 2, 3, 7, 30, 64, 250])
@pytest.mark.parametrize("accumulation", [1, 2, 3, 8])
def test_every_sample_is_in_exactly_one_batch_of_one_window(batch_size: int, accumulation: int) -> None:
    for n in range(1, 201):
        epoch = BatchPlan(n, batch_size, accumulation)
        bounds = [bounds for step in range(epoch.steps) for bounds in epoch.batches_of(step)]
        assert len(bounds) == epoch.batches
        assert [place for first, end in bounds for place in range(first, end)] == list(range(n))
        assert sum(epoch.samples(step) for step in range(epoch.steps)) == n
        assert all(len(epoch.batches_of(step)) == accumulation for step in range(epoch.steps - 1))
        sizes = [end - first for first, end in bounds]
        assert all(size == batch_size for size in sizes[:-1])
        assert 1 <= sizes[-1] <= batch_size + 1


@pytest.mark.parametrize(
    ("n", "batch_size", "sizes"),
    [(9, 4, [4, 5]), (10, 4, [4, 4, 2]), (5, 4, [5]), (1, 4, [1]), (4, 4, [4]), (3, 1, [1, 1, 1]), (3, 2, [3])],
)
def test_a_lone_last_sample_joins_the_batch_before_it(n: int, batch_size: int, sizes: list[int]) -> None:
    epoch = BatchPlan(n, batch_size)
    assert [end - first for first, end in epoch.bounds_from(0)] == sizes


@pytest.mark.parametrize("numbers", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_nonsense_is_refused(numbers: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        BatchPlan(*numbers)


@pytest.mark.parametrize("batch_size", [1, 2, 7, 30])
@pytest.mark.parametrize("drop_last", [False, True])
def test_batches_are_those_of_torch_with_and_without_the_last(batch_size: int, drop_last: bool) -> None:
    """But for the single sample that is left over, which joins the batch before it."""
    for n in range(batch_size, 100):
        epoch = BatchPlan.of_samples(n, batch_size, 2, drop_last)
        torchs = [len(batch) for batch in BatchSampler(range(n), batch_size, drop_last)]
        if torchs[-1] == 1 < batch_size:
            torchs[-2:] = [batch_size + 1]
        assert [end - first for first, end in epoch.bounds_from(0)] == torchs
        assert epoch.n + epoch.dropped == n


def test_smaller_batches_leave_out_the_same_samples() -> None:
    finer = BatchPlan.of_samples(95, 10, 3, drop_last=True).smaller(6)
    assert finer == BatchPlan(90, 6, 5, dropped=5)
