"""Snapshots: independent of what trains on, in memory that is used again."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from training.checkpoints.snapshot import Copied, SnapshotMemory


def content(value: float = 1.0) -> dict[str, Any]:
    return {
        "plain": torch.full((3, 4), value),
        "channels last": torch.full((2, 3, 4, 5), value).to(memory_format=torch.channels_last),
        "slices": [torch.arange(10.0)[::3] + value, torch.full((), value)],
        "numbers": (1, 2.5, "text", None),
    }


def tensors(copied: Copied) -> list[Tensor]:
    return [copied.content["plain"], copied.content["channels last"], *copied.content["slices"]]


def test_a_copy_keeps_values_and_memory_order_and_nothing_else() -> None:
    source = content()
    copied = SnapshotMemory().copy(source)
    copied.wait_for_copies()
    expected = [tensor.clone() for tensor in (source["plain"], source["channels last"], *source["slices"])]
    source["plain"].zero_()
    source["channels last"].zero_()
    assert all(mine.equal(theirs) for mine, theirs in zip(tensors(copied), expected, strict=True))
    assert copied.content["channels last"].is_contiguous(memory_format=torch.channels_last)
    assert copied.content["numbers"] == (1, 2.5, "text", None)


def test_memory_is_used_again() -> None:
    memory = SnapshotMemory()
    places = {tensor.data_ptr() for tensor in tensors(memory.copy(content(1.0)))}
    second = memory.copy(content(2.0))
    assert {tensor.data_ptr() for tensor in tensors(second)} == places
    assert float(second.content["plain"][0, 0]) == 2.0
    larger = memory.copy([content(3.0), content(4.0)])  # an average of the weights has begun
    first, other = ({tensor.data_ptr() for tensor in tensors(Copied(half, lambda: None))} for half in larger.content)
    assert len(places & (first | other)) == len(places)
    assert first.isdisjoint(other)
    assert [float(half["plain"][0, 0]) for half in larger.content] == [3.0, 4.0]
