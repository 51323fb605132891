"""Snapshots: independent of what trains on, in memory that is bounded and used again."""

from __future__ import annotations

import threading
from typing import Any

import pytest
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
    copied = SnapshotMemory(1 << 20).copy(source)
    copied.arrived()
    expected = [tensor.clone() for tensor in (source["plain"], source["channels last"], *source["slices"])]
    source["plain"].zero_()
    source["channels last"].zero_()
    assert all(mine.equal(theirs) for mine, theirs in zip(tensors(copied), expected, strict=True))
    assert copied.content["channels last"].is_contiguous(memory_format=torch.channels_last)
    assert copied.content["numbers"] == (1, 2.5, "text", None)


def test_memory_is_used_again_but_only_once_it_was_given_back() -> None:
    memory = SnapshotMemory(1 << 20)
    first = memory.copy(content(1.0))
    second = memory.copy(content(2.0))
    places = {tensor.data_ptr() for tensor in tensors(first)}
    assert places.isdisjoint(tensor.data_ptr() for tensor in tensors(second))
    memory.give_back(first)
    third = memory.copy(content(3.0))
    assert {tensor.data_ptr() for tensor in tensors(third)} == places
    assert float(third.content["plain"][0, 0]) == 3.0
    assert float(second.content["plain"][0, 0]) == 2.0


def test_prepared_memory_is_what_the_first_copy_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = SnapshotMemory(1 << 20)
    memory.prepare(content())()
    monkeypatch.setattr("training.checkpoints.snapshot._buffer", None)  # nothing more may be asked for
    assert float(memory.copy(content(5.0)).content["plain"][0, 0]) == 5.0


@pytest.mark.parametrize("limit", [100, 2000])
def test_a_copy_waits_while_too_much_is_in_use(limit: int) -> None:
    """Of 800 bytes each: one alone may be larger than the limit; of two that fit, a third one waits."""
    memory = SnapshotMemory(limit)
    numbers = {"numbers": torch.zeros(200)}
    kept = [memory.copy(numbers) for _ in range(1 if limit == 100 else 2)]
    made = threading.Event()

    def copy() -> None:
        memory.copy(numbers)
        made.set()

    thread = threading.Thread(target=copy)
    thread.start()
    assert not made.wait(0.2)
    memory.give_back(kept.pop())
    assert made.wait(60)
    thread.join()


def test_small_snapshots_do_not_queue_without_end() -> None:
    memory = SnapshotMemory(1 << 30)
    for _ in range(32):
        memory.copy({"tiny": torch.zeros(1)})
    thread = threading.Thread(target=memory.copy, args=({"tiny": torch.zeros(1)},), daemon=True)
    thread.start()
    thread.join(0.2)
    assert thread.is_alive()
