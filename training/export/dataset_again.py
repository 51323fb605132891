"""A script is written with a look at the dataset: only it knows what its folders and columns are called, or its samples."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor

from training.config import RunConfig
from training.config.torchvision_sets import KnownSetSection
from training.data.duplicates import without_duplicates
from training.data.source import Opening, Source
from training.data.sources import open_source
from training.data.splits import split_source
from training.errors import InputError


def open_again(config: RunConfig, opening: Opening) -> tuple[Source, dict[str, Tensor]]:
    """The run's samples and which of them are in which part. Raises InputError as ``looking_again`` does."""
    dataset = config.dataset
    if isinstance(dataset, KnownSetSection):
        dataset = dataset.model_copy(update={"download": False})
    with looking_again():
        source = open_source(dataset, opening)
        splits = split_source(source, dataset)
        source = source.fit(splits["train"])
        if getattr(dataset, "duplicates", "keep") != "keep":
            splits, _ = without_duplicates(source, splits, source.read)
    return source, splits


@contextmanager
def looking_again() -> Iterator[None]:
    """Say in each InputError why the dataset is needed at all."""
    try:
        yield
    except InputError as error:
        raise InputError(
            f"{error.message} The script is written from the dataset; bring it back to where the run had it."
        ) from error
    except OSError as error:
        raise InputError(
            f"dataset.path: {error.filename} cannot be read ({error.strerror}). The script is written from the dataset; bring "
            "it back to where the run had it."
        ) from error
