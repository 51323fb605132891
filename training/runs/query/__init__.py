"""The filter language of runs: ``val/accuracy > 0.9 and lr < 1e-3 and "cosine" in schedule.kind``, parsed and never evaluated."""

from training.runs.query.names import Names, collect_names
from training.runs.query.parser import Query, asks_for_archived, complete, parse
from training.runs.query.tokens import FilterError

__all__ = ["FilterError", "Names", "Query", "asks_for_archived", "collect_names", "complete", "parse"]
