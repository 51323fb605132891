"""Checkpoints measured on data, sample by sample: what ``training.predictions`` reads."""

from training.evaluation.evaluate import evaluate_checkpoint, evaluate_left_out

__all__ = ["evaluate_checkpoint", "evaluate_left_out"]
