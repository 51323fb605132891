"""From files on disk to batches on the device."""

from training.data.batching.batches import Batch, Data, MicroBatches
from training.data.prepare import prepare

__all__ = ["Batch", "Data", "MicroBatches", "prepare"]
