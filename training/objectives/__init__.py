"""Tasks: which of core's losses and metrics they take, how a prediction is shown. One file per task."""

from __future__ import annotations

from training.objectives.objective import Objective, make_objective
from training.objectives.tables import MetricSet, Tables

__all__ = ["MetricSet", "Objective", "Tables", "make_objective"]
