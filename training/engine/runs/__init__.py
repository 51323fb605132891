"""A run from its folder to its final event."""
