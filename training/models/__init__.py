"""The networks a run can train."""

from __future__ import annotations

from training.models.factory import make_model
from training.models.summary import summarise

__all__ = ["make_model", "summarise"]
