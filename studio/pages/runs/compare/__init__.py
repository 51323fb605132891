"""Runs beside each other: their curves, settings, metrics, and which settings matter."""
