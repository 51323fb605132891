"""An x axis that counts time."""

from __future__ import annotations

from studio.charts.plots.plot import Plot

_UNITS = (("h", 3600), ("min", 60))
_LEAST = 3  # of a unit, before numbers are in it


def label_time(plot: Plot, title: str, reach: float) -> str:
    """Positions are seconds, up to ``reach``; the axis counts them in the unit that suits. Returns what it is called."""
    unit, size = next(((unit, size) for unit, size in _UNITS if reach >= _LEAST * size), ("s", 1))
    called = f"{title} ({unit})"
    plot.set_x_label(called, 1 / size)
    plot.set_whole_x(False)
    return called
