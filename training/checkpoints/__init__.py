"""Checkpoints: written whole behind the loop's back, verified before they are read, kept by label."""

from training.checkpoints.load import WholeCheckpoint, load_state, load_weights, newest_good
from training.checkpoints.manager import CheckpointManager

__all__ = ["CheckpointManager", "WholeCheckpoint", "load_state", "load_weights", "newest_good"]
