"""Checkpoints measured on data, sample by sample: what ``training.predictions`` reads."""

from training.evaluation.evaluate import evaluate_checkpoint

__all__ = ["evaluate_checkpoint"]
