"""What can be chosen in each section, as records that name their code without importing it.

To add a choice: one config class in ``training.config``, one row in this package, and the code the row's target names.
"""

from __future__ import annotations

from training.catalog.entries import DATASETS, MODELS, OBJECTIVES, OPTIMIZERS, SCHEDULES, entries, entry
from training.catalog.entry import Entry, resolve
from training.metric_names import METRICS, Metric, metric

__all__ = [
    "DATASETS",
    "METRICS",
    "MODELS",
    "OBJECTIVES",
    "OPTIMIZERS",
    "SCHEDULES",
    "Entry",
    "Metric",
    "entries",
    "entry",
    "metric",
    "resolve",
]
