"""Weights of classes in a loss."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from training.errors import InputError
from training.facts import DataFacts


def class_weights(given: Sequence[float], balanced: bool, facts: DataFacts, device: torch.device) -> Tensor | None:
    """float32 (classes,): as given, or balanced; None where all count alike. Raises InputError for another number of
    weights than there are classes."""
    if given:
        refuse_other_count("objective.class_weights", given, facts)
    weights = tuple(given)
    if (
        balanced
    ):  # total / (classes * count): all classes weigh alike then, and a sample 1 on average; 1 for a class of none
        present = [count for count in facts.counts if count]
        weights = tuple(sum(present) / (len(present) * count) if count else 1.0 for count in facts.counts)
    return torch.tensor(weights, dtype=torch.float32, device=device) if weights else None


def refuse_other_count(path: str, given: Sequence[float], facts: DataFacts) -> None:
    """Raise InputError unless there is one of ``given`` for each of the data's classes or labels."""
    if len(given) != len(facts.names):
        names = ", ".join(facts.names[:5]) + (", ..." if len(facts.names) > 5 else "")
        raise InputError(
            f"{path}: holds {len(given)} weights, but the data has {len(facts.names)} ({names}); give one for each, in this "
            "order, or none."
        )
