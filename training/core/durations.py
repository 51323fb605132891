"""How long a stretch of a run is that was written as 300 (steps), "3 epochs" or "5 %" (of the run)."""

from __future__ import annotations

import re

_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?(steps?|epochs?|%)")


def read_duration(duration: int | str) -> tuple[float, str]:
    """The number and its unit: "step", "epoch" or "%". ValueError, which says what is wrong, for a text that is none."""
    if isinstance(duration, int):
        return duration, "step"
    found = _DURATION.fullmatch(duration.strip())
    if found is None:
        raise ValueError('must be a number of steps or a text like "3 epochs" or "5 %"')
    number, unit = float(found[1]), found[2].rstrip("s")
    if unit == "%" and number > 100.0:
        raise ValueError("must be at most 100 % of the run")
    if unit == "step" and not number.is_integer():
        raise ValueError("must be a whole number of steps")
    return number, unit


def count_duration(duration: int | str, total_steps: int, steps_per_epoch: int, every: str = "step") -> int:
    """The steps (``every`` = "epoch": epochs) of ``duration`` in a run of ``total_steps``: rounded, and one at least unless it
    is 0. ValueError where epochs are counted and it is no whole number of them."""
    number, unit = read_duration(duration)
    total = total_steps if every == "step" else count_epochs(total_steps, steps_per_epoch)
    if unit == "%":
        number = total * number / 100.0
        return max(round(number), 1) if number else 0
    if every == "step":
        steps = number * steps_per_epoch if unit == "epoch" else number
        return max(round(steps), 1) if number else 0
    epochs, rest = divmod(number, steps_per_epoch if unit == "step" else 1)
    if rest:
        raise ValueError(f"{duration} is no whole number of epochs of {steps_per_epoch} steps")
    return int(epochs)


def count_epochs(total_steps: int, steps_per_epoch: int) -> int:
    """The epochs that a run enters: one that ends inside an epoch counts that one, too."""
    return -(-total_steps // steps_per_epoch)
