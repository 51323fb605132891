"""A run copied to object storage, or any place that fsspec knows, by a process of its own, and fetched back from there."""
