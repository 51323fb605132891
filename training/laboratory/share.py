"""A share of MNIST-like files, written as idx files of their own: the first pictures of each class."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.atomic import write_bytes
from training.errors import InputError

_PREFIXES = {"train": "train", "test": "t10k"}


def write_share(source: Path, share: float, into: Path) -> Path:
    """The folder under ``into`` that holds ``share`` of the idx files in ``source``; written once.

    Raises InputError when ``source`` cannot be read as such files.
    """
    name = hashlib.sha256(f"{source}|{share!r}".encode()).hexdigest()[:8]
    folder = into / f"data-{name}"
    if (folder / "complete").is_file():
        return folder
    from training.data.sources.idx import Idx  # with torch: only for whoever wants a share

    whole = Idx(source)
    pictures, labels = whole.take().squeeze(-1).numpy(), whole.targets.numpy()
    folder.mkdir(parents=True, exist_ok=True)
    for part, places in whole.parts.items():
        chosen = places.numpy()[_first_of_each(labels[places.numpy()], share)]
        _write(folder / f"{_PREFIXES[part]}-images-idx3-ubyte", pictures[chosen])
        _write(folder / f"{_PREFIXES[part]}-labels-idx1-ubyte", labels[chosen].astype(np.uint8))
    (folder / "complete").touch()
    return folder


def _first_of_each(labels: NDArray[np.int64], share: float) -> NDArray[np.int64]:
    """Where the first ``share`` of each class lie, in the order of the file."""
    wanted = []
    for number in np.unique(labels):
        places = np.flatnonzero(labels == number)
        count = round(len(places) * share)
        if count < 2:
            raise InputError(
                f"--share {share:g} leaves {count} pictures of class {number}; take a larger share.",
            )
        wanted.append(places[:count])
    return np.sort(np.concatenate(wanted))


def _write(path: Path, data: NDArray[np.uint8]) -> None:
    """``data`` as an idx file of unsigned bytes: two zeros, type 8, the number of dimensions, each size, the bytes."""
    header = bytes([0, 0, 8, data.ndim]) + np.array(data.shape, ">u4").tobytes()
    write_bytes(path, header + np.ascontiguousarray(data).tobytes(), durable=False)
