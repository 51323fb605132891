"""Tasks: their loss, what is measured, how a prediction is shown. One file per task."""

from __future__ import annotations

from training.objectives.objective import Counter, Objective, Tables, Totals, make_objective

__all__ = ["Counter", "Objective", "Tables", "Totals", "make_objective"]
