"""Draws that take every class equally often."""

from __future__ import annotations

import torch
from torch import Tensor

from training.core.counter_rng import random_bits


def draw_balanced(classes: Tensor, seed: int, epoch: int) -> Tensor:
    """int64 (n,): for each of an epoch's n draws a place in ``classes`` (int64, (n,)).

    Draws are counted on through the epochs. Draw g belongs to the (g mod C)-th of the C classes that have samples,
    and is that class's draw number g div C: they go through its samples in a random order, every one before any comes
    again, in another order the next time. So of a common class, too, each sample has its turn, in a later epoch where
    one is too short. A function of (seed, epoch): nothing of it needs to be kept."""
    n = len(classes)
    present, numbers = torch.unique(classes, return_inverse=True)
    draws = epoch * n + torch.arange(n)
    turn = draws % len(present)
    chosen = torch.empty(n, dtype=torch.int64)
    for number in range(len(present)):
        members = (numbers == number).nonzero().flatten()
        mine = (turn == number).nonzero().flatten()
        along = draws[mine] // len(present)
        rounds, place = along // len(members), along % len(members)
        first = int(rounds[0])
        grid = torch.arange(first, int(rounds[-1]) + 1).unsqueeze(1) * len(members) + torch.arange(len(members))
        keys = random_bits(seed, f"balanced {int(present[number])}", 0, grid)
        orders = torch.sort(keys, dim=1, stable=True).indices
        chosen[mine] = members[orders[rounds - first, place]]
    return chosen
