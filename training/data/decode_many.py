"""Decode and check a whole folder of pictures, in processes when that pays."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.data.decode import DifferentSize, Form, Unusable, decode
from training.data.processes import core_count, worker_context
from training.data.source import ReportProgress
from training.errors import TrainingError

_WORTH_PROCESSES = 6.0  # seconds of decoding left; starting the processes costs about one
_MOST_PROCESSES = 16
_PIECE_BYTES = 4 << 20  # of pixels sent back by a process at once
_FIRST = 256


@dataclass
class Piece:
    """What became of consecutive files. ``pixels`` holds a row for each file, broken ones included, if wanted."""

    digests: list[bytes] = field(default_factory=list)
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
            piece.digests.append(b"")
            piece.reasons.append(str(error))
            continue
        piece.digests.append(digest)
        piece.reasons.append("")
        if piece.pixels is not None:
            piece.pixels[row] = pixels
    return piece


def decode_many(
    root: Path,
    paths: list[str],
    form: Form,
    store: NDArray[np.uint8] | None,
    workers: int | None,
    report_progress: ReportProgress,
) -> Piece:
    """Decode every file, its pixels into its row of ``store`` if there is one. Raises DifferentSize."""
    whole = Piece()
    shown = 0.0

    def add(piece: Piece) -> None:
        nonlocal shown
        if piece.other_size:
            raise DifferentSize
        first = len(whole.reasons)
        whole.digests += piece.digests
        whole.reasons += piece.reasons
        if store is not None and piece.pixels is not None:
            store[first : first + len(piece.reasons)] = piece.pixels
        if time.monotonic() - shown > 0.1:
            shown = time.monotonic()
            report_progress("checking and decoding the pictures", len(whole.reasons) / len(paths))

    size = max(1, min(_FIRST, _PIECE_BYTES // int(np.prod(form.pixels))))
    began = time.monotonic()
    while len(whole.reasons) < min(len(paths), _FIRST):
        add(decode_piece(root, paths[len(whole.reasons) :][:size], form, store is not None))
    pieces = [paths[first : first + size] for first in range(len(whole.reasons), len(paths), size)]
    remaining = (time.monotonic() - began) * (len(paths) / max(1, len(whole.reasons)) - 1)
    if workers is None:
        workers = min(core_count(), _MOST_PROCESSES) if remaining > _WORTH_PROCESSES else 0
    if workers < 2 or len(pieces) < 2:
        for piece in pieces:
            add(decode_piece(root, piece, form, store is not None))
        return whole
    with _processes(min(workers, len(pieces))) as pool:
        running: deque[Future[Piece]] = deque()
        for piece in pieces:
            running.append(pool.submit(decode_piece, root, piece, form, store is not None))
            if len(running) > 2 * workers:
                add(running.popleft().result())
        while running:
            add(running.popleft().result())
    return whole


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
