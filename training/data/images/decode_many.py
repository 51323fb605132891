"""Decode and check a whole folder of images, in processes when that pays."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial

import numpy as np

from training.data.batching.pool import ProcessDied, Question, ask
from training.data.batching.resident import Notice
from training.data.images.decode import DifferentSize, Form
from training.data.images.files import Files
from training.data.images.pieces import Piece, read_piece
from training.data.source import Opening, throttle
from training.errors import TrainingError, pluralize
from training.system.hardware import core_count

_WORTH_PROCESSES = 6.0  # seconds of decoding left; a process is started in a fifth of one
_MOST_PROCESSES = 16
_AHEAD = 3  # pieces under way for each process: one that it decodes, others that wait for it or for their turn
_PIECE_BYTES = 2 << 20  # of pixels handed over by a process at once
_MOST_UNDER_WAY = 32 << 20  # bytes of all pieces under way
_FIRST, _FIRST_SECONDS = 256, 0.5
"""So many images show what decoding costs, or as many as take this long: a photograph of twelve megapixels takes 30 ms,
one of CIFAR-10 a quarter of a millisecond."""

_REPLACED = Notice(
    "A process that decodes images ended unexpectedly; another took its place and no image was lost.",
    "If it happens again, memory is probably short: use fewer workers (loader.workers).",
)


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

    def question(first: int, size: int) -> Question[Piece]:
        rows = np.arange(first, min(len(files), first + size))
        return partial(read_piece, files.select(rows), form, keep)

    row = int(np.prod(form.pixels))
    size = max(1, min(_FIRST, _PIECE_BYTES // row))
    began = time.monotonic()
    while done < min(len(files), _FIRST) and time.monotonic() - began < _FIRST_SECONDS:
        add(question(done, size)())
    remaining = (time.monotonic() - began) * (len(files) / max(1, done) - 1)
    workers = opening.workers
    if workers is None:
        workers = min(core_count(), _MOST_PROCESSES) if remaining > _WORTH_PROCESSES else 0
    if getattr(sys, "frozen", False):
        workers = 0  # a program in one piece has no Python to start
    if workers > 1:  # larger pieces, as far as they are spread evenly: each costs half a millisecond to hand over
        size = max(size, (len(files) - done) // (16 * workers))
        size = max(1, min(size, _PIECE_BYTES // row, _MOST_UNDER_WAY // (_AHEAD * workers * row)))
    starts = range(done, len(files), size)
    workers = min(workers, len(starts))
    questions = (question(first, size) for first in starts)
    for piece in _from_processes(questions, workers, opening) if workers > 1 else (each() for each in questions):
        add(piece)


def _from_processes(questions: Iterable[Question[Piece]], workers: int, opening: Opening) -> Iterator[Piece]:
    with closing(ask(questions, workers, _AHEAD * workers, lambda: opening.tell(_REPLACED))) as answers:
        try:
            yield from answers
        except ProcessDied as error:
            raise TrainingError(
                "A process that decodes images ended unexpectedly; often memory is short.",
                "Try loader.workers = 0.",
                {"loader.workers": 0},
            ) from error
