"""From files on disk to batches on the device."""

from training.data.batches import Batch, Data, Window
from training.data.prepare import prepare

__all__ = ["Batch", "Data", "Window", "prepare"]
