"""Where the samples stay, and the reason a person reads."""

from __future__ import annotations

import pytest
import torch

from training.config.sections.loader import Loader
from training.data.placement import measure_room, place
from training.data_report import Placement
from training.errors import InputError, format_bytes


def decide(size: int, what: str, loader: Loader) -> Placement:
    return place(size, what, loader, measure_room(loader, torch.device("cpu")))


def test_small_data_is_resident_with_the_reason() -> None:
    choice = decide(36_000_000, "images", Loader(memory_limit_mb=5200))
    assert (choice.mode, choice.reason) == ("resident", "36 MB of images fit in memory (limit 5.2 GB)")


def test_large_data_is_streamed_with_the_reason() -> None:
    choice = decide(36_000_000, "images", Loader(memory_limit_mb=35))
    assert (choice.mode, choice.reason) == ("streamed", "36 MB of images do not fit in memory (limit 35 MB)")
    assert decide(10**15, "images", Loader()).mode == "streamed"


def test_what_is_asked_for_is_done_or_refused() -> None:
    assert decide(10, "numbers", Loader(mode="streamed")).mode == "streamed"
    assert decide(36_000_000, "images", Loader(mode="resident", memory_limit_mb=1)).mode == "resident"
    with pytest.raises(InputError, match=r"loader\.mode: 1000 TB of images cannot be kept in memory"):
        decide(10**15, "images", Loader(mode="resident"))


@pytest.mark.parametrize(
    ("size", "words"), [(5, "5 bytes"), (36_000_000, "36 MB"), (5.2e9, "5.2 GB"), (999_600, "1 MB"), (1e15, "1000 TB")]
)
def test_sizes_in_words(size: float, words: str) -> None:
    assert format_bytes(size) == words
