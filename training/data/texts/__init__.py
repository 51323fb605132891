"""Texts: read, and cut into tokens."""
