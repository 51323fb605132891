"""The networks a run can train."""

from __future__ import annotations

from training.models.factory import fit_to_samples, make_model
from training.models.summary import summarize

__all__ = ["fit_to_samples", "make_model", "summarize"]
