"""What a run's own records tell about it, while it trains and afterwards: causes, since when, and what mends them. No torch here."""

from training.diagnosis.live import LiveDiagnosis
from training.diagnosis.looks import Diagnosis, plan_looks, replay
from training.diagnosis.recorded import LayerRows, Recorded, RecordReader, read_recorded

__all__ = [
    "Diagnosis",
    "LayerRows",
    "LiveDiagnosis",
    "RecordReader",
    "Recorded",
    "plan_looks",
    "read_recorded",
    "replay",
]
