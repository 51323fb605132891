"""What an evaluation wrote: for each sample what was true, what the model answered and what it cost, as files. No torch here."""

from training.predictions.reading import Evaluation, list_evaluations, read
from training.predictions.record import Baseline, ColumnForm, EvaluationRecord, Measured

__all__ = ["Baseline", "ColumnForm", "Evaluation", "EvaluationRecord", "Measured", "list_evaluations", "read"]
