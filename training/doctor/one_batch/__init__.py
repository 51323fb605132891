"""Whether a network can learn a few samples by heart, and what keeps it from that."""

from training.doctor.one_batch.check import fit_one_batch, judge_fit

__all__ = ["fit_one_batch", "judge_fit"]
