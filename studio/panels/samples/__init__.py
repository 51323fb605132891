"""Samples as they look: the engine's pixels as images, and one of them large."""
