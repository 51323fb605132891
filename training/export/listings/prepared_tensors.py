"""The file beside a script that holds its samples: of every kind of data that no script reads by itself."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np
import torch
from numpy.lib import format as npy
from numpy.typing import NDArray
from torch import Tensor

from training.catalog.script_data import LARGE_DATA, READ_BY_SCRIPTS, bytes_beside
from training.checkpoints.trained import Trained
from training.config import RunConfig
from training.config.sections.data.own_data import OwnDataSection
from training.config.sections.data.torchvision_sets import KnownSetSection
from training.data.duplicates import without_duplicates
from training.data.fitted import open_fitted
from training.data.images.cache_room import cache_wish
from training.data.placement import measure_room
from training.data.preparation import sample_bytes
from training.data.source import Opening, ReportProgress, Source, silent
from training.data.sources.own import OwnSource
from training.errors import InputError, format_bytes
from training.runs.folder import RunFolder, read_json
from training.system.untrusted import open_file

MARK = b"Written by Trainwright beside a script."
_MOST = 1 << 50
_AT_ONCE = 16 << 20  # bytes


@dataclass(frozen=True)
class PreparedTensors:
    """All samples of a run as its source gives them, before augmentation and normalization, and which belong to which
    part."""

    source: Source
    splits: dict[str, Tensor]

    @property
    def size(self) -> int:
        """Bytes of all samples."""
        return sample_bytes(self.source) * len(self.source.targets)

    @property
    def digest(self) -> str:
        """What tells this file from that of other samples or another split of them."""
        whole = hashlib.sha256(f"{self.source.fingerprint} {self.source.classes}".encode())
        for part, numbers in sorted(self.splits.items()):
            whole.update(part.encode() + numbers.numpy().tobytes())
        return whole.hexdigest()

    def write(self, stream: IO[bytes]) -> None:
        """Write the npz file that ``core.prepared_reading`` reads, a few samples at a time: there is never a copy of all.
        Raises TrainingError where a sample can no longer be read."""
        masked = self.source.target == "mask"
        with ZipFile(stream, "w", ZIP_STORED) as archive:
            archive.comment = MARK
            self._add_samples(archive, "samples", (lambda read: read[..., :-1]) if masked else (lambda read: read))
            if masked:
                self._add_samples(archive, "targets", lambda read: read[..., -1])
            else:
                _add(archive, "targets", self.source.targets.numpy())
            for part, numbers in self.splits.items():
                _add(archive, part, numbers.numpy())
            _add(archive, "digest", np.array(self.digest))

    def _add_samples(self, archive: ZipFile, name: str, choose: Callable[[Tensor], Tensor]) -> None:
        count = len(self.source.targets)
        first = choose(self.source.read(torch.zeros(1, dtype=torch.int64))).numpy()
        with _entry(archive, name, (count, *first.shape[1:]), first.dtype) as stream:
            for some in torch.arange(count).split(max(1, _AT_ONCE // sample_bytes(self.source))):
                stream.write(np.ascontiguousarray(choose(self.source.read(some)).numpy()).data.cast("B"))


def prepare_data(trained: Trained) -> PreparedTensors | None:
    """Open the dataset as the run did; None for the kinds that a script reads by itself. Raises InputError where it is gone or
    has become another."""
    config = trained.config
    if config.dataset.kind in READ_BY_SCRIPTS:
        return None
    run = RunFolder(trained.checkpoint.parent.parent)
    source, splits = open_again(config, open_for(config, run), run.exclude_file)
    if isinstance(source, OwnSource) and draws_anew(config) and source.drawing.collate is not None:
        raise InputError(
            "dataset.path: a script does not repeat the batches of the file's collate_fn; export safetensors, torch-export or onnx instead."
        )
    if trained.manifest.data.fingerprint != source.fingerprint:
        raise InputError("dataset: it is not the one that the run was trained on any more; put the old files back.")
    return PreparedTensors(source, splits)


def open_for(config: RunConfig, run: RunFolder, report_progress: ReportProgress = silent) -> Opening:
    """How the samples of ``run`` are opened once more."""
    room = measure_room(config.loader, torch.device("cpu"))
    code = run.dataset_code_file
    return Opening(
        seed=config.seed,
        code=code if code.is_file() else None,
        keep=lambda size: size <= room.host,
        workers=config.loader.workers,
        cache=cache_wish(config.loader),
        report_progress=report_progress,
    )


def draws_anew(config: RunConfig) -> bool:
    """Whether the training samples are drawn by the person's own Dataset in each epoch, so that a script has it beside it."""
    return isinstance(config.dataset, OwnDataSection) and config.dataset.random_samples


def open_again(config: RunConfig, opening: Opening, excluded: Path) -> tuple[Source, dict[str, Tensor]]:
    """The run's samples and which of them are in which part; ``excluded`` is its copy of an exclude list. Raises InputError as
    ``explain_need`` does."""
    with explain_need():
        return read_parts(config, opening, excluded)


def read_parts(config: RunConfig, opening: Opening, excluded: Path) -> tuple[Source, dict[str, Tensor]]:
    """The same. Raises InputError or OSError where the data is gone; nothing is downloaded."""
    dataset = config.dataset
    if isinstance(dataset, KnownSetSection):
        dataset = dataset.model_copy(update={"download": False})
    source, splits = open_fitted(dataset, opening, excluded)
    if getattr(dataset, "duplicates", "keep") != "keep":
        splits, _ = without_duplicates(source, splits, source.read)
    return source, splits


@contextmanager
def explain_need() -> Iterator[None]:
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


def refuse_large(size: int, path: Path) -> None:
    """Raise InputError where nobody asked for so large a file."""
    if size > LARGE_DATA:
        raise InputError(
            f"{path}: the samples beside the script would take {format_bytes(size)}, and more than {format_bytes(LARGE_DATA)} are "
            "written only when asked for: add --large-data."
        )


def read_size(run: RunFolder) -> int:
    """Read the bytes of the samples as the run reported them, before any of them is opened; 0 where it did not."""
    return bytes_beside(read_json(run.data_file))


def is_prepared(path: Path) -> bool:
    """Whether an export of ours wrote the file."""
    try:
        with open_file(path, _MOST) as stream:
            stream.seek(max(0, path.stat().st_size - len(MARK)))
            return stream.read() == MARK
    except OSError:
        return False


def _add(archive: ZipFile, name: str, array: NDArray[Any]) -> None:
    with _entry(archive, name, array.shape, array.dtype) as stream:
        stream.write(array.tobytes())


def _entry(archive: ZipFile, name: str, shape: tuple[int, ...], kind: np.dtype[Any]) -> IO[bytes]:
    """An array's place in the file, behind its header. Its date is always the same one: the same samples make the same file."""
    stream = archive.open(ZipInfo(f"{name}.npy"), "w", force_zip64=True)
    header = {"descr": npy.dtype_to_descr(kind), "fortran_order": False, "shape": shape}
    npy.write_array_header_1_0(stream, header)
    return stream
