"""Shares of clipped steps and histograms of gradient norms, against counts made one by one."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from training.config.sections.loop import Loop
from training.runs.records.gradients import ClippedSteps, clip_limit, count_clipped, format_clipped, make_histogram


def drawn_norms(seed: int, count: int = 3000) -> NDArray[np.float32]:
    """Norms over many sizes, with steps that were not made."""
    norms = 10.0 ** np.random.default_rng(seed).normal(0.0, 1.5, count)
    norms[::97] = np.nan
    norms[::101] = np.inf
    return norms.astype(np.float32)


@pytest.mark.parametrize("limit", [0.1, 1.0, 5.0, 1e40])
def test_a_step_counts_as_clipped_where_torch_scales_its_gradient_down(limit: float) -> None:
    norms = drawn_norms(1, 200)
    scaled = 0
    for norm in norms[np.isfinite(norms)].tolist():
        parameter = torch.nn.Parameter(torch.zeros(1))
        parameter.grad = torch.tensor([norm])
        measured = torch.nn.utils.clip_grad_norm_([parameter], limit).item()
        scaled += measured > limit
        assert (parameter.grad.item() < norm * (1 - 1e-4)) <= (measured > limit)
    assert count_clipped(norms, limit) == ClippedSteps(
        scaled, int(np.isfinite(norms).sum()), int((~np.isfinite(norms)).sum())
    )


def test_a_norm_of_just_the_limit_is_not_clipped() -> None:
    assert count_clipped(np.array([0.1], np.float32), 0.1).clipped == 0
    assert count_clipped(np.nextafter(np.array([0.1], np.float32), np.float32(1)), 0.1).clipped == 1


@pytest.mark.parametrize("limit", [None, 0.1, 1.0, 3.7, 1e9])
@pytest.mark.parametrize("spread", [0.0, 1e-3, 1.0, 9.0])
def test_a_histogram_counts_every_norm_once_and_clips_no_bin_in_part(limit: float | None, spread: float) -> None:
    norms = (10.0 ** (spread * np.random.default_rng(3).normal(0.0, 1.0, 999))).astype(np.float32)
    if limit:
        norms[:50] = limit  # on the edge
    norms[-3:] = 0.0, np.nan, np.inf
    found = make_histogram(norms, limit)
    finite = norms[np.isfinite(norms)]
    assert (found.zeros, found.skipped) == (int((finite == 0).sum()), 999 - len(finite))
    assert sum(found.counts) + found.zeros + found.skipped == 999
    assert 1 <= len(found.counts) == len(found.edges) - 1 <= 50
    factors = [high / low for low, high in pairwise(found.edges)]
    assert factors == pytest.approx([factors[0]] * len(factors))
    assert found.edges[0] <= finite[finite > 0].min() * 1.001
    assert finite.max() <= found.edges[-1] * 1.001
    for (low, high), count in zip(pairwise(found.edges), found.counts, strict=True):
        inside = int(((finite > low * 1.00001) & (finite < high * 0.99999)).sum())
        around = int(((finite > low * 0.99999) & (finite <= high * 1.00001)).sum())
        assert inside <= count <= around
    if limit:
        above = sum(count for low, count in zip(found.edges, found.counts, strict=False) if low >= limit * 0.99999)
        assert above == count_clipped(norms, limit).clipped


@pytest.mark.parametrize("norms", [[], [0.0, 0.0], [math.nan]])
def test_there_is_no_histogram_of_nothing(norms: list[float]) -> None:
    found = make_histogram(np.array(norms, np.float32), 1.0)
    assert (found.edges, found.counts, found.zeros + found.skipped) == ((), (), len(norms))


@pytest.mark.parametrize(
    ("clipped", "made", "told"),
    [(0, 0, "–"), (0, 9, "0%"), (1, 300, "< 1%"), (34, 100, "34%"), (299, 300, "> 99%"), (300, 300, "100%")],
)
def test_no_share_is_rounded_to_none_or_all(clipped: int, made: int, told: str) -> None:
    assert format_clipped(ClippedSteps(clipped, made, 0)) == told


def test_there_is_a_limit_where_the_measured_norm_is_what_is_clipped() -> None:
    assert clip_limit(Loop(clip_norm=0.5)) == 0.5
    assert clip_limit(Loop(clip_norm=None)) is clip_limit(Loop(clip_norm=0.0)) is None
    assert clip_limit(Loop(clip_norm=0.5, clip_value=0.1)) is None  # the norm after clipping by value is not known
