"""From samples to batches: held in memory, or streamed by workers."""
