"""Samples that lie ready in one file, whatever they were made from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor


def read_prepared(path: Path, digest: str) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """Samples (n, ...), their targets (n, ...), and the int64 numbers of the samples of each part.

    ``path`` is an npz file with the arrays "samples", "targets" and "digest", and one for each part. Raises ValueError
    where its digest is not ``digest``, so that it holds other samples, and OSError where it cannot be read."""
    with path.open("rb") as file, np.load(file) as arrays:
        if str(arrays.get("digest")) != digest:
            raise ValueError("it holds other samples")
        tensors = {name: torch.from_numpy(arrays[name]) for name in arrays.files if name != "digest"}
    samples, targets = tensors.pop("samples"), tensors.pop("targets")
    return samples, targets, tensors
