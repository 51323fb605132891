"""Checkpoints: written whole behind the loop's back, verified before they are read, kept by label."""

from training.checkpoints.keep import Keeper
from training.checkpoints.load import load_state, load_weights, newest_good

__all__ = ["Keeper", "load_state", "load_weights", "newest_good"]
