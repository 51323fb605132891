"""Widgets that show a run and are used by more than one page."""
