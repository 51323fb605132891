"""Checkpoints: written whole behind the loop's back, verified before they are read, kept by label."""

from training.checkpoints.load import load_state, load_weights, newest_good
from training.checkpoints.manager import CheckpointManager

__all__ = ["CheckpointManager", "load_state", "load_weights", "newest_good"]
