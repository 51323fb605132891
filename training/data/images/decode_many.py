"""Decode and check a whole folder of images, in processes when that pays."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from training.data.batching.processes import core_count
from training.data.batching.resident import Bounds, Notice
from training.data.batching.workers import AHEAD, Workers, WorkersDied, new_pixels
from training.data.images.decode import DifferentSize, Form, Unusable, outcome
from training.data.images.folder import Files
from training.data.source import Opening, throttle
from training.errors import TrainingError, pluralize

_WORTH_PROCESSES = 6.0  # seconds of decoding left; starting the processes costs about one
_MOST_PROCESSES = 16
_PIECE_BYTES = 2 << 20  # of pixels handed over by a process at once
_MOST_SHARED = 32 << 20  # bytes of all pieces under way: a container often has no more than 64 MB of shared memory
_FIRST, _FIRST_SECONDS = 256, 0.5
"""So many images show what decoding costs, or as many as take this long: a photograph of twelve megapixels takes 30 ms,
one of CIFAR-10 a quarter of a millisecond."""

_REPLACED = Notice(
    "A process that decodes images ended unexpectedly; another took its place and no image was lost.",
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
        piece = Piece(pixels=new_pixels((len(indices), *self.form.pixels)) if self.keep else None)
        rows = None if piece.pixels is None else piece.pixels.numpy()
        for row, index in enumerate(indices.tolist()):
            became = outcome(self.files[index], self.form)
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
    report_progress = throttle(opening.report_progress)

    def add(piece: Piece) -> None:
        nonlocal done
        if piece.other_size:
            raise DifferentSize
        take(done, piece)
        done += len(piece.reasons)
        report_progress(f"decoding {done:,} of {pluralize(len(files), 'image')}", done / len(files))

    pieces = Pieces(files, form, keep)
    row = int(np.prod(form.pixels))
    size = max(1, min(_FIRST, _PIECE_BYTES // row))
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
    here = (pieces.read(torch.arange(first, end)) for first, end in bounds)
    for piece in _from_processes(pieces, workers, bounds, opening) if workers > 1 else here:
        add(piece)


def _from_processes(pieces: Pieces, workers: int, bounds: Bounds, opening: Opening) -> Iterator[Piece]:
    reading: Workers[Piece] = Workers(pieces, workers, False, lambda _: opening.tell(_REPLACED), hear=lambda _: None)
    with closing(reading):
        try:
            yield from reading.batches(torch.arange(len(pieces.files)), bounds)
        except WorkersDied as error:
            raise TrainingError(
                "A process that decodes images ended unexpectedly; often memory is short.",
                "Try loader.workers = 0.",
                {"loader.workers": 0},
            ) from error
