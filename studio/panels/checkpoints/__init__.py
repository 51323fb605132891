"""Checkpoints of one run: the list, how it goes on from one, and what was set aside."""
