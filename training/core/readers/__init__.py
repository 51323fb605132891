"""Readers of the plain kinds of data."""
