"""Findings before and during a run: what is wrong or doubtful, on what evidence, and what to do."""

from training.doctor.preflight import preflight

__all__ = ["preflight"]
