"""Whether there is room for made data, which is known before any of it is made."""

from __future__ import annotations

from training.config import RunConfig
from training.config.toys import ToySection
from training.data.host_memory import host_memory
from training.errors import InputError, in_words

MADE_AT_ONCE = 1 << 14
_WHILE_MADE = 6 * 8  # bytes: what a number takes while it is drawn, from its place to float64
_KEPT = 4
_TARGET = 3 * 4  # of a number to predict: all of them, and those of the parts
_EACH = 112  # of a sample: its number, its class, its place in the parts and in the order
_COMFORTABLE = 0.2  # of the memory that is free


def refuse_too_much_made(config: RunConfig) -> None:
    """Raise InputError where made data needs more memory than there is: it is drawn sample by sample, and would take hours
    before anybody said so. Who would rather wait in each epoch says so: streamed data is not kept."""
    dataset = config.dataset
    if not isinstance(dataset, ToySection):
        return
    size = dataset.samples * dataset.numbers * _KEPT
    streamed = min(dataset.samples, MADE_AT_ONCE) * dataset.numbers * _WHILE_MADE
    streamed += dataset.samples * (_EACH + dataset.target_numbers * _TARGET)
    free, need = host_memory().available, streamed + (size if config.loader.mode != "streamed" else 0)
    if need <= free:
        return
    fewer = int(_COMFORTABLE * free / (dataset.numbers * (_KEPT + _WHILE_MADE)))
    way = ", or set loader.mode to streamed to make them again in each epoch" if streamed <= free else ""
    raise InputError(
        f"dataset.samples: {dataset.samples:,} samples of {dataset.numbers:,} numbers take {in_words(need)}, but only "
        f"{in_words(free)} of memory are free; take fewer samples or smaller ones{way}.",
        fix={"dataset.samples": fewer} if fewer >= 30 else {},
    )
