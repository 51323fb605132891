"""The kinds of data."""
