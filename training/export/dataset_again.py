"""A script is written with a look at the dataset: only it knows what its folders, arrays and columns are called."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from training.errors import InputError


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
