"""The metrics a run reports: how they are called, which way is better, how they are shown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """One metric. ``format`` is a Python format specification for its value."""

    name: str
    title: str
    maximize: bool
    format: str

    def show(self, value: float) -> str:
        """``value`` as a person reads it."""
        return format(value, self.format)


METRICS: tuple[Metric, ...] = (
    Metric("loss", "Loss", maximize=False, format=".4f"),
    Metric("accuracy", "Accuracy", maximize=True, format=".2%"),
)


def metric(name: str) -> Metric:
    """The metric called ``name``, with or without its part ("val/accuracy" or "accuracy"). KeyError when unknown."""
    plain = name.rpartition("/")[2]
    for candidate in METRICS:
        if candidate.name == plain:
            return candidate
    raise KeyError(f"no metric is called {plain!r}")
