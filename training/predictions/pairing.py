"""Which rows of two evaluations are the same samples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from training.predictions.reading import Evaluation


def find_keys(evaluation: Evaluation, by_content: bool) -> NDArray[np.generic]:
    """What its samples are told apart by, (n,): the digests of their content, or their numbers in the data. Raises InputError."""
    digests = evaluation.digests if by_content else None
    return evaluation.column("index") if digests is None else np.array(digests, dtype=np.bytes_)


def pairs_by_content(first: Evaluation, second: Evaluation) -> bool | None:
    """Whether samples have to be found by their content: those of data that an exclude list or other settings changed. None where
    the data differs and nothing tells which samples are in both."""
    if first.record.fingerprint == second.record.fingerprint:
        return False
    return True if first.digests is not None and second.digests is not None else None
