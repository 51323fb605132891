"""What a model or an objective is told of samples that need not exist."""

from __future__ import annotations

from training.facts import DataFacts


def sample_facts(shape: tuple[int, ...]) -> DataFacts:
    """Images, or vectors where ``shape`` has one side, of two classes."""
    return DataFacts("image" if len(shape) == 3 else "vector", shape, "class", ("no", "yes"))


def class_facts(classes: int) -> DataFacts:
    """Vectors of two numbers, each of one of ``classes``."""
    return DataFacts("vector", (2,), "class", tuple(f"class {number}" for number in range(classes)))
