"""Suspicious labels of the training part: k runs of a run's configuration, each judging the samples that were left out of it."""
