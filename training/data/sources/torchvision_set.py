"""``torchvision``: datasets that torchvision knows by name, fetched once or found where torchvision put them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.config.dataset import ImageFolderDataset
from training.config.pictures import TorchvisionDataset
from training.data.download import Remote, download, is_whole, unpack
from training.data.known_sets import KNOWN_SETS, KnownSet, own_folder
from training.data.placement import in_words
from training.data.source import AtHand, Opening, Skipped
from training.data.sources.idx import Idx
from training.data.sources.image_folder import ImageFolder, open_image_folder
from training.errors import InputError, TrainingError
from training.facts import Layout
from training.reading import MEGABYTE, read_bytes

_SIDE, _CHANNELS = 32, 3
_PIXELS = _SIDE * _SIDE * _CHANNELS


class Cifar(AtHand):
    """CIFAR-10 or CIFAR-100 in binary form: records of the labels, of which the last is the class, and the colour planes
    (cs.toronto.edu/~kriz/cifar.html)."""

    layout: Layout = "image"

    def __init__(self, files: dict[str, list[Path]], labels: int, classes: tuple[str, ...], check: bool) -> None:
        """``files`` of each part; ``labels`` bytes stand before each picture. Raises InputError."""
        self.shape: tuple[int, ...] = (_CHANNELS, _SIDE, _SIDE)
        self.skipped: tuple[Skipped, ...] = ()
        self._paths = [path for paths in files.values() for path in paths]
        self._record = labels + _PIXELS
        counts = {part: sum(self._length(path) for path in paths) for part, paths in files.items()}
        self.parts: dict[str, Tensor] = {}
        for part, count in counts.items():
            first = sum(len(rows) for rows in self.parts.values())
            self.parts[part] = torch.arange(first, first + count)
        self._pixels: NDArray[np.uint8] | None = None
        records = self._read()
        self.targets = torch.from_numpy(records[:, labels - 1].astype(np.int64))
        highest = int(self.targets.max())
        if highest >= len(classes):
            raise InputError(
                f"{self._paths[0]} holds the label {highest}, but there are {len(classes)} classes.", _AGAIN
            )
        self.classes = classes
        self._digest = hashlib.sha256(records.data).hexdigest()
        self.fingerprint = self._digest if check else ""
        self.notes: tuple[str, ...] = (f"read from {self._paths[0].parent}",)
        self._pixels = records[:, labels:]

    def _length(self, path: Path) -> int:
        try:
            count, rest = divmod(path.stat().st_size, self._record)
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}.", _AGAIN) from error
        if rest or not count:
            raise InputError(f"{path} is cut off or damaged.", _AGAIN)
        return count

    def _read(self) -> NDArray[np.uint8]:
        try:
            whole = np.concatenate([np.fromfile(path, np.uint8) for path in self._paths])
        except OSError as error:
            raise InputError(f"{self._paths[0].parent} cannot be read: {error.strerror or error}.", _AGAIN) from error
        return whole.reshape(-1, self._record)

    def read(self, indices: Tensor) -> Tensor:
        """uint8 (n, 32, 32, 3)."""
        if self._pixels is None:
            records = self._read()
            if hashlib.sha256(records.data).hexdigest() != self._digest:
                raise TrainingError(f"{self._paths[0].parent} was good when the run began, but has changed.", _AGAIN)
            self._pixels = records[:, self._record - _PIXELS :]
        planes = torch.from_numpy(self._pixels[indices.numpy()])
        return planes.view(-1, _CHANNELS, _SIDE, _SIDE).permute(0, 2, 3, 1).contiguous()

    def name(self, index: int) -> str:
        return f"sample {index}"

    def take(self) -> Tensor:
        whole = self.read(torch.arange(len(self.targets)))
        self._pixels = None
        return whole

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_pixels": None}


_AGAIN = "Delete the file, and start again to download it anew."


def open_torchvision_set(dataset: TorchvisionDataset, opening: Opening) -> Idx | Cifar | ImageFolder:
    known = KNOWN_SETS[dataset.name]
    root = Path(dataset.path) if dataset.path else own_folder()
    if known.form == "idx":
        return _open_idx(dataset, known, root, opening)
    place = _made(dataset, known, root, opening)
    if known.form == "cifar":
        return _open_cifar(known, place, opening)
    settings = {"path": str(place), "image_size": dataset.image_size, "validation": dataset.validation}
    source = open_image_folder(ImageFolderDataset.model_validate(settings), opening)
    if len(source.classes) == len(known.classes):
        source.classes = known.classes  # in the order of their folders
    return source


def _open_idx(dataset: TorchvisionDataset, known: KnownSet, root: Path, opening: Opening) -> Idx:
    for place in (root / known.folder, root / Path(known.folder).name, root):
        if any(place.glob("train-images*idx3-ubyte*")):
            break
    else:
        place = root / known.folder
        _require_download(dataset, known, root, opening)
        for remote in known.files:
            if not (place / remote.name).exists():
                download(remote, place, opening.report_progress)
    source = Idx(
        place
    )  # which tells a damaged file by itself; one that was packed anew is as good as the published one
    if known.classes:
        source.classes = known.classes
    return source


def _made(dataset: TorchvisionDataset, known: KnownSet, root: Path, opening: Opening) -> Path:
    """The unpacked folder, after fetching and unpacking what is missing."""
    (remote,) = known.files
    for place in (root / known.folder, root):
        if (place / known.made).is_dir():
            return place / known.made
    place = root / known.folder
    if not (place / remote.name).exists():
        _require_download(dataset, known, root, opening)
        download(remote, place, opening.report_progress)
    elif not opening.check:
        raise InputError(
            f"{place / remote.name} is not unpacked yet.", "That is done when the run starts, or by Check."
        )
    else:
        _require_whole(place / remote.name, remote)
    unpack(place / remote.name, place, opening.report_progress)
    return place / known.made


def _require_download(dataset: TorchvisionDataset, known: KnownSet, root: Path, opening: Opening) -> None:
    """Raise InputError where nothing is to be fetched: the settings say so, or this is only a preview."""
    missing = f"{dataset.name} is not in {root} yet"
    if not dataset.download:
        pickled = [path.name for path in (root / "cifar-10-batches-py", root / "cifar-100-python") if path.is_dir()]
        why = f"; {pickled[0]} holds Python pickles, which may be programs and are never opened" if pickled else ""
        names = ", ".join(remote.name for remote in known.files)
        raise InputError(f"{missing}{why}.", f"Switch dataset.download on, or put {names} there.")
    if not opening.check:
        raise InputError(
            f"{missing}.", f"It is downloaded ({in_words(known.bytes)}) when the run starts; Check downloads it now."
        )


def _require_whole(path: Path, remote: Remote) -> None:
    """Raise InputError for a file that is not the one its makers published."""
    try:
        whole = is_whole(path, remote)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.", _AGAIN) from error
    if not whole:
        raise InputError(f"{path} is damaged, or another file than it should be.", _AGAIN)


def _open_cifar(known: KnownSet, place: Path, opening: Opening) -> Cifar:
    opening.report_progress(f"reading {place.name}", None)
    if known.classes:
        files = {
            "train": [place / f"data_batch_{number}.bin" for number in range(1, 6)],
            "test": [place / "test_batch.bin"],
        }
        return Cifar(files, 1, known.classes, opening.check)
    try:
        names = read_bytes(place / "fine_label_names.txt", MEGABYTE).decode().split()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{place / 'fine_label_names.txt'} cannot be read ({error}).", _AGAIN) from error
    return Cifar({"train": [place / "train.bin"], "test": [place / "test.bin"]}, 2, tuple(names), opening.check)
