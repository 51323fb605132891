"""``Streamed``: samples read while the model trains, by worker processes or a thread, ahead of their use."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import torch
from torch import Tensor

from training.data.batching.resident import Bounds, Notice, RawBatch, Resident
from training.data.batching.workers import Workers
from training.data.source import Batch, Source

READ_BY_WORKERS = ("train", "evaluate")
"""Uses that each have workers of their own; for the few batches of others no process is worth its start."""


class Streamed:
    """Bit for bit what ``Resident`` gives, with any number of workers: the batches are cut here, workers only read."""

    def __init__(self, source: Source, device: torch.device, workers: int, prefetch_factor: int) -> None:
        self._source = source
        self._device = device
        self._count = workers
        self._ahead = prefetch_factor
        self._workers: dict[str, Workers[Batch]] = {}  # for each use
        self._thread: ThreadPoolExecutor | None = None
        self._copies = torch.cuda.Stream(device) if device.type == "cuda" else None
        self.waited = 0.0
        self.notices: list[Notice] = []
        self._heard: set[Notice] = set()

    def iterate(self, use: str, order: Tensor, bounds: Bounds) -> Iterator[RawBatch]:
        """One pass at a time for each ``use``; a new one ends the one before. Raises TrainingError naming a lost file."""
        if self._count and use in READ_BY_WORKERS:
            read = self._from_workers(use, order, bounds)
        elif self._source.runs_own_code:
            read = (self._read(order[first:end]) for first, end in bounds)
        else:
            read = self._from_thread(order, bounds)
        host = ((*_part(batch), order[first:end]) for (first, end), batch in zip(bounds, self._time(read), strict=True))
        if self._copies:
            return self._on_gpu(host)
        here = self._device
        return (RawBatch(s.to(here), i.to(here), i, None if t is None else t.to(here)) for s, t, i in host)

    def reopen(self) -> Streamed:
        made = Streamed(self._source, self._device, self._count, self._ahead)
        made.notices = self.notices[:]
        return made

    def close(self) -> None:
        """End the workers. A pass that is still held by someone finds nothing more."""
        for workers in self._workers.values():
            workers.close()
        self._workers.clear()
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)
            self._thread = None

    def _time(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        while True:
            began = time.perf_counter()
            try:
                batch = next(batches)
            except StopIteration:
                return
            finally:
                self.waited += time.perf_counter() - began
            self._hear(self._source.take_notices())
            yield batch

    def _hear(self, notices: list[Notice]) -> None:
        """What the source has to say; the same is said once a run."""
        self.notices += [notice for notice in dict.fromkeys(notices) if notice not in self._heard]
        self._heard.update(notices)

    def _from_workers(self, use: str, order: Tensor, bounds: Bounds) -> Iterator[Batch]:
        if use not in self._workers:
            sets, pinned = len(READ_BY_WORKERS) - len(self._workers), self._copies is not None
            self._workers[use] = Workers(
                self._source.batch_reader, self._count, pinned, self.notices.append, self._hear, sets, self._ahead
            )
        return self._workers[use].batches(order, bounds)

    def _from_thread(self, order: Tensor, bounds: Bounds) -> Iterator[Batch]:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="read samples")
        thread = self._thread
        running: deque[Future[Batch]] = deque()
        try:
            for first, end in bounds:
                running.append(thread.submit(self._read, order[first:end]))
                if len(running) > self._ahead:  # beside the one that is worked on
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for future in running:
                future.cancel()

    def _read(self, indices: Tensor) -> Batch:
        batch = self._source.batch_reader.read(indices)
        if not self._copies:
            return batch
        return (batch[0].pin_memory(), batch[1].pin_memory()) if isinstance(batch, tuple) else batch.pin_memory()

    def _on_gpu(self, host: Iterator[tuple[Tensor, Tensor | None, Tensor]]) -> Iterator[RawBatch]:
        """Copy one batch ahead on a stream of its own, while the model computes."""
        ahead: tuple[RawBatch, torch.cuda.Event] | None = None
        for samples, targets, indices in host:
            with torch.cuda.stream(self._copies):
                raw = RawBatch(
                    samples.to(self._device, non_blocking=True),
                    indices.pin_memory().to(self._device, non_blocking=True),
                    indices,
                    None if targets is None else targets.to(self._device, non_blocking=True),
                )
                copied = torch.cuda.Event()
                copied.record()
            if ahead is not None:
                yield self._await_copy(*ahead)
            ahead = raw, copied
        if ahead is not None:
            yield self._await_copy(*ahead)

    def _await_copy(self, raw: RawBatch, copied: torch.cuda.Event) -> RawBatch:
        computing = torch.cuda.current_stream(self._device)
        computing.wait_event(copied)
        for tensor in (raw.samples, raw.numbers, *([] if raw.targets is None else [raw.targets])):
            tensor.record_stream(computing)  # its memory must not be reused for the next copy while it is read
        return raw


def _part(batch: Batch) -> tuple[Tensor, Tensor | None]:
    return (batch[0], batch[1]) if isinstance(batch, tuple | list) else (batch, None)


BatchFeed = Resident | Streamed
"""What brings samples to the device."""
