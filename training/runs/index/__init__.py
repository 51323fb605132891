"""The database of all runs: quick lists, search and SQL. Everything in it can be rebuilt from the folders."""

from training.runs.index.index import Index, index_run

__all__ = ["Index", "index_run"]
