"""``idx``: the files of MNIST and FashionMNIST (format: "THE IDX FILE FORMAT", LeCun, yann.lecun.com/exdb/mnist)."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.config.sections.data.dataset import IdxDataset
from training.data.arrays.idx_file import IdxFile
from training.data.source import AtHand, Opening, gather_rows
from training.errors import InputError
from training.facts import Layout

IDX_FORMS = "images-idx3-ubyte", "labels-idx1-ubyte"
MNIST_FILES = (("train", "train"), ("test", "t10k"))


class Idx(AtHand):
    """Gray images from up to two pairs of files: train-* and, if there, t10k-* as the part "test".

    Plain files are read by number; gzipped ones are unpacked into memory.
    """

    layout: Layout = "image"

    def __init__(self, folder: Path, prefixes: tuple[tuple[str, str], ...] = MNIST_FILES) -> None:
        """``prefixes`` are each part with that of its files' names."""
        self.parts: dict[str, Tensor] = {}
        self._files: list[IdxFile] = []
        labels: list[NDArray[np.uint8]] = []
        digest = hashlib.sha256()
        total = 0
        for part, prefix in prefixes:
            images_file, labels_file = (find_idx(folder, f"{prefix}-{form}") for form in IDX_FORMS)
            if part == "test" and images_file is None and labels_file is None:
                continue
            if images_file is None or labels_file is None:
                missing = f"{prefix}-{IDX_FORMS[0] if images_file is None else IDX_FORMS[1]}"
                raise InputError(
                    f"{folder} has no file {missing} (or {missing}.gz).", "Choose the folder that holds it."
                )
            images, classes = IdxFile(images_file, dimensions=3), IdxFile(labels_file, dimensions=1).take()
            if len(images) != len(classes):
                raise InputError(
                    f"{images_file.name} holds {len(images)} images, but {labels_file.name} holds {len(classes)} labels.",
                    "Use the two files that belong together.",
                )
            digest.update(f"{part} {images.shape}".encode())
            images.add_to(digest)
            digest.update(classes.data)
            self._files.append(images)
            labels.append(classes)
            self.parts[part] = torch.arange(total, total + len(images))
            total += len(images)
        if len(self._files) == 2 and self._files[0].shape[1:] != self._files[1].shape[1:]:
            raise InputError(
                f"the images in {self._files[0].path.name} and {self._files[1].path.name} differ in size.",
                "Use the files of one dataset.",
            )
        self.shape: tuple[int, ...] = (1, *self._files[0].shape[1:])
        self.targets = torch.from_numpy(np.concatenate(labels).astype(np.int64))
        seen = torch.bincount(self.targets[self.parts["train"]], minlength=1)
        if int(self.targets.max()) >= len(seen):
            raise InputError(
                f"{folder}: the test labels name class {int(self.targets.max())}, which no training label does.",
                "Use the files of one dataset.",
            )
        self.classes = tuple(str(number) for number in range(len(seen)))
        self.notes: tuple[str, ...] = _notes(folder, [file.path for file in self._files], seen)
        self.fingerprint = digest.hexdigest()
        if int((seen > 0).sum()) < 2:
            raise InputError(f"{folder}: the training labels hold one class only.", "A classifier needs at least two.")

    def read(self, indices: Tensor) -> Tensor:
        """uint8 (n, rows, columns, 1)."""
        return torch.from_numpy(gather_rows(self._files, indices.numpy())).unsqueeze(-1)

    def take(self) -> Tensor:
        arrays = [file.take() for file in self._files]
        return torch.from_numpy(arrays[0] if len(arrays) == 1 else np.concatenate(arrays)).unsqueeze(-1)


def open_idx(dataset: IdxDataset, opening: Opening) -> Idx:
    folder = Path(dataset.path)
    if not folder.is_dir():
        raise InputError(f"dataset.path: {folder} is not a folder.", "Choose the folder that holds the idx files.")
    opening.report_progress(f"reading {folder.name}", None)
    return Idx(folder)


def find_idx(folder: Path, name: str) -> Path | None:
    """The file of that name, gzipped or not; some mirrors and unpackers write ".idx". None where there is none."""
    dotted = name.replace("-idx", ".idx")
    places = (folder / each for each in (name, f"{name}.gz", dotted, f"{dotted}.gz"))
    return next((place for place in places if place.is_file()), None)


def _notes(folder: Path, files: list[Path], seen: Tensor) -> tuple[str, ...]:
    notes = [f"read {', '.join(file.name for file in files)} in {folder}"]
    absent = [str(number) for number, count in enumerate(seen.tolist()) if count == 0]
    if absent:
        notes.append(f"no training image is labeled {', '.join(absent)}")
    return tuple(notes)
