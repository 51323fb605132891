"""Decode and check a whole folder of pictures, in processes when that pays."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import torch
from torch import Tensor

from training.data.decode import DifferentSize, Form, Outcome, Unusable, outcome
from training.data.files import Files
from training.data.gpu_decode import GpuDecoder
from training.data.processes import core_count
from training.data.resident import Bounds, Notice
from training.data.source import Opening
from training.data.workers import AHEAD, Workers, WorkersDied, new_pixels
from training.errors import TrainingError, counted

_WORTH_PROCESSES = 6.0  # seconds of decoding left; starting the processes costs about one
_MOST_PROCESSES = 16
_PIECE_BYTES = 2 << 20  # of pixels handed over by a process at once
_MOST_SHARED = 32 << 20  # bytes of all pieces under way: a container often has no more than 64 MB of shared memory
_FIRST, _FIRST_SECONDS = 256, 0.5
"""So many pictures show what decoding costs, or as many as take this long: a photograph of twelve megapixels takes 30 ms,
one of CIFAR-10 a quarter of a millisecond."""

_REPLACED = Notice(
    "A process that decodes pictures ended unexpectedly; another took its place and no picture was lost.",
    "If it happens again, memory is probably short: use fewer workers (loader.workers).",
)


@dataclass
class Piece:
    """What became of consecutive files. ``pixels`` (n, H, W, C) has a row for each file, broken ones included, if wanted."""

    digests: list[bytes] = field(default_factory=list)
    """Of the good files only."""
    reasons: list[str] = field(default_factory=list)
    """ "" for a good file."""
    pixels: Tensor | None = None
    other_size: bool = False


@dataclass
class Pieces:
    """Reads pieces, here or in a worker, which writes the pixels where this process finds them."""

    files: Files
    form: Form
    keep: bool

    def read(self, indices: Tensor) -> Piece:
        """Decode the files of ``indices``; stops at the first of another size."""
        return self.gathered(len(indices), (outcome(self.files[index], self.form) for index in indices.tolist()))

    def gathered(self, count: int, outcomes: Iterable[Outcome]) -> Piece:
        """The next ``count`` outcomes as a piece, up to the first of another size."""
        piece = Piece(pixels=new_pixels((count, *self.form.pixels)) if self.keep else None)
        rows = None if piece.pixels is None else piece.pixels.numpy()
        for row, became in enumerate(islice(outcomes, count)):
            if isinstance(became, DifferentSize):
                piece.other_size = True
                break
            if isinstance(became, Unusable):
                piece.reasons.append(str(became))
                continue
            pixels, digest = became
            piece.digests.append(digest)
            piece.reasons.append("")
            if rows is not None:
                rows[row] = pixels
        return piece

    def take_notices(self) -> list[Notice]:
        return []


def decode_many(files: Files, form: Form, keep: bool, opening: Opening, take: Callable[[int, Piece], None]) -> None:
    """Decode every file and hand over what became of it: ``take(first, piece)``, in the order of ``files``, with pixels
    if ``keep`` says so. Raises DifferentSize."""
    done = 0
    shown = 0.0

    def add(piece: Piece) -> None:
        nonlocal done, shown
        if piece.other_size:
            raise DifferentSize
        take(done, piece)
        done += len(piece.reasons)
        if time.monotonic() - shown > 0.1 or done == len(files):
            shown = time.monotonic()
            opening.report_progress(f"decoding {done:,} of {counted(len(files), 'picture')}", done / len(files))

    pieces = Pieces(files, form, keep)
    row = int(np.prod(form.pixels))
    size = max(1, min(_FIRST, _PIECE_BYTES // row))
    if opening.decoder is not None:
        for piece in _from_gpu(pieces, size, opening.decoder):
            add(piece)
        return
    began = time.monotonic()
    while done < min(len(files), _FIRST) and time.monotonic() - began < _FIRST_SECONDS:
        add(pieces.read(torch.arange(done, min(len(files), done + size))))
    remaining = (time.monotonic() - began) * (len(files) / max(1, done) - 1)
    workers = opening.workers
    if workers is None:
        workers = min(core_count(), _MOST_PROCESSES) if remaining > _WORTH_PROCESSES else 0
    if workers > 1:  # larger pieces, as far as they are spread evenly: each costs half a millisecond to hand over
        size = max(size, (len(files) - done) // (16 * workers))
        size = max(1, min(size, _PIECE_BYTES // row, _MOST_SHARED // (AHEAD * workers * row)))
    bounds = [(first, min(len(files), first + size)) for first in range(done, len(files), size)]
    workers = min(workers, len(bounds))
    for piece in _from_processes(pieces, workers, bounds, opening) if workers > 1 else _from_here(pieces, bounds):
        add(piece)


def _from_here(pieces: Pieces, bounds: Bounds) -> Iterator[Piece]:
    return (pieces.read(torch.arange(first, end)) for first, end in bounds)


def _from_gpu(pieces: Pieces, size: int, decoder: GpuDecoder) -> Iterator[Piece]:
    count = len(pieces.files)
    with closing(decoder.decode((pieces.files.root / path for path in pieces.files.paths), pieces.form)) as outcomes:
        for first in range(0, count, size):
            yield pieces.gathered(min(size, count - first), outcomes)


def _from_processes(pieces: Pieces, workers: int, bounds: Bounds, opening: Opening) -> Iterator[Piece]:
    reading: Workers[Piece] = Workers(pieces, workers, False, lambda _: opening.tell(_REPLACED), hear=lambda _: None)
    with closing(reading):
        try:
            yield from reading.batches(torch.arange(len(pieces.files)), bounds)
        except WorkersDied as error:
            raise TrainingError(
                "A process that decodes pictures ended unexpectedly; often memory is short.",
                "Try loader.workers = 0.",
                {"loader.workers": 0},
            ) from error
