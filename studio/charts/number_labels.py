"""Numbers beside an axis and in a read-out: short, and exactly as precise as they have to be. No Qt."""

import math
from collections.abc import Sequence


def tick_labels(values: Sequence[float], spacing: float) -> list[str]:
    """Texts for ticks `spacing` apart, all in one notation, with the fewest digits that tell them apart."""
    largest = max((abs(value) for value in values), default=0.0)
    if largest == 0 or spacing <= 0:
        return [f"{value:g}" for value in values]
    if 1e4 <= largest < 1e12 and spacing >= 100:
        return [_with_suffix(value) for value in values]
    if largest < 1e-3 or largest >= 1e6:
        digits = max(0, math.floor(math.log10(largest)) - math.floor(math.log10(spacing) + 1e-9))
        return [_scientific(value, digits) for value in values]
    places = max(0, -math.floor(math.log10(spacing) + 1e-9))
    return [f"{value:.{places}f}" for value in values]


def reading(value: float) -> str:
    """A value as a person reads it off: four significant digits; "–" for a gap."""
    if not math.isfinite(value):
        return "–"
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:#.4g}".rstrip(".")  # "#" keeps zeros: digits that come and go make the value jump
    return _scientific(value, 2)


def position(value: float) -> str:
    """A position on the x axis: whole steps with thousands apart, epochs with two decimals."""
    return f"{value:,.0f}" if abs(value - round(value)) < 1e-9 else f"{value:,.2f}"


def _scientific(value: float, digits: int) -> str:
    if value == 0:
        return "0"
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def _with_suffix(value: float) -> str:
    for size, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{suffix}"
    return f"{value:g}"
