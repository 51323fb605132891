"""Decode and check a whole folder of pictures, in processes when that pays."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.data.decode import DifferentSize, Form, Unusable, decode
from training.data.names import Names
from training.data.processes import core_count, worker_context
from training.data.source import ReportProgress
from training.errors import TrainingError, counted

_WORTH_PROCESSES = 6.0  # seconds of decoding left; starting the processes costs about one
_MOST_PROCESSES = 16
_PIECE_BYTES = 4 << 20  # of pixels sent back by a process at once
_FIRST, _FIRST_SECONDS = 256, 0.5
"""So many pictures show what decoding costs, or as many as take this long: a photograph of twelve megapixels takes 30 ms,
one of CIFAR-10 a quarter of a millisecond."""


@dataclass
class Piece:
    """What became of consecutive files. ``pixels`` holds a row for each file, broken ones included, if wanted."""

    digests: list[bytes] = field(default_factory=list)
    """Of the good files only."""
    reasons: list[str] = field(default_factory=list)
    """ "" for a good file."""
    pixels: NDArray[np.uint8] | None = None
    other_size: bool = False


def decode_piece(root: Path, paths: list[str], form: Form, keep: bool) -> Piece:
    """Decode ``paths``; stops at the first of another size."""
    piece = Piece(pixels=np.zeros((len(paths), *form.pixels), dtype=np.uint8) if keep else None)
    for row, path in enumerate(paths):
        try:
            pixels, digest = decode(root / path, form)
        except DifferentSize:
            piece.other_size = True
            break
        except Unusable as error:
            piece.reasons.append(str(error))
            continue
        piece.digests.append(digest)
        piece.reasons.append("")
        if piece.pixels is not None:
            piece.pixels[row] = pixels
    return piece


def decode_many(
    root: Path,
    paths: Names,
    form: Form,
    keep: bool,
    workers: int | None,
    report_progress: ReportProgress,
    take: Callable[[int, Piece], None],
) -> None:
    """Decode every file and hand over what became of it: ``take(first, piece)``, in the order of ``paths``, with pixels
    if ``keep`` says so. Raises DifferentSize."""
    done = 0
    shown = 0.0

    def add(piece: Piece) -> None:
        nonlocal done, shown
        if piece.other_size:
            raise DifferentSize
        take(done, piece)
        done += len(piece.reasons)
        if time.monotonic() - shown > 0.1 or done == len(paths):
            shown = time.monotonic()
            report_progress(f"decoding {done:,} of {counted(len(paths), 'picture')}", done / len(paths))

    size = max(1, min(_FIRST, _PIECE_BYTES // int(np.prod(form.pixels))))
    began = time.monotonic()
    while done < min(len(paths), _FIRST) and time.monotonic() - began < _FIRST_SECONDS:
        add(decode_piece(root, paths[done : done + size], form, keep))
    firsts = range(done, len(paths), size)
    remaining = (time.monotonic() - began) * (len(paths) / max(1, done) - 1)
    if workers is None:
        workers = min(core_count(), _MOST_PROCESSES) if remaining > _WORTH_PROCESSES else 0
    if workers < 2 or len(firsts) < 2:
        for first in firsts:
            add(decode_piece(root, paths[first : first + size], form, keep))
        return
    with _processes(min(workers, len(firsts))) as pool:
        running: deque[Future[Piece]] = deque()
        for first in firsts:
            running.append(pool.submit(decode_piece, root, paths[first : first + size], form, keep))
            if len(running) > 2 * workers:
                add(running.popleft().result())
        while running:
            add(running.popleft().result())


@contextmanager
def _processes(workers: int) -> Iterator[ProcessPoolExecutor]:
    pool = ProcessPoolExecutor(workers, mp_context=worker_context())
    try:
        yield pool
    except BrokenProcessPool as error:
        raise TrainingError(
            "A process that decodes pictures ended unexpectedly; often memory is short.", "Try loader.workers = 0."
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)
