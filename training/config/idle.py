"""Which settings do nothing as the others stand, for whoever is about to turn them."""

from __future__ import annotations

from collections.abc import Collection

from training.config.dataset_section import DatasetSection, PartsSection
from training.config.run import RunConfig
from training.config.text import TextDataset


def idle_settings(config: RunConfig, given: Collection[str] = ()) -> dict[str, str]:
    """Why each of them has no effect, a sentence by dotted setting. ``given`` are the parts that the data came with, as far as
    somebody looked."""
    found = _of_the_split(config.dataset, given)
    if isinstance(config.dataset, TextDataset) and config.dataset.vocabulary != "bpe":
        found["dataset.vocabulary_size"] = f"No effect: a vocabulary of {config.dataset.vocabulary} has its own size."
    if getattr(config.schedule, "max_lr", None) is not None:
        found["optimizer.lr"] = "No effect: the schedule's highest rate is used."
    if config.loop.early_stopping_patience is None:
        found["loop.early_stopping_min_delta"] = "No effect without early stopping."
    return found


def _of_the_split(dataset: DatasetSection, given: Collection[str]) -> dict[str, str]:
    why = ""
    if getattr(dataset, "validation_path", None):
        why = "No effect: the validation data is given."
    elif not isinstance(dataset, PartsSection):
        return {}  # whatever parts it has were made by these very settings
    elif dataset.validation == "test":
        why = "No effect: the test part is validated on."
    elif dataset.validation == "auto" and "validation" in given:
        by_column = getattr(dataset, "split_column", None)
        why = f"No effect: {'a column says what to validate on' if by_column else 'the data has a validation part of its own'}."
    names = ["validation_fraction"] if dataset.test_fraction else ["validation_fraction", "split_seed"]
    return {f"dataset.{name}": why for name in names if name in type(dataset).model_fields} if why else {}
