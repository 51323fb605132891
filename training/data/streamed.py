"""``Streamed``: samples read while the model trains, by worker processes or a thread, ahead of their use."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import psutil
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from training.data.processes import end_with, worker_context
from training.data.resident import Bounds, Raw
from training.data.source import Source
from training.errors import TrainingError

_AHEAD = 3  # batches read before they are asked for: each by a worker, or by the thread


class Failure:
    """A TrainingError on its way out of a worker; torch would bury the sentence in a traceback."""

    def __init__(self, error: TrainingError) -> None:
        self.message = error.message
        self.advice = error.advice


class SampleReader(Dataset[Any]):
    """A Source as torch's DataLoader wants it: whole batches at once."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def __getitems__(self, indices: NDArray[np.int64]) -> Tensor | Failure:
        try:
            return self._source.read(torch.from_numpy(indices))
        except TrainingError as error:
            return Failure(error)


class Order:
    """The batches of the pass that is about to begin; stays in this process, so a pass can begin anywhere."""

    def __init__(self) -> None:
        self.batches: Callable[[], Iterator[NDArray[np.int64]]] = lambda: iter(())

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        return self.batches()


class Streamed:
    """Bit for bit what ``Resident`` gives, with any number of workers: the batches are cut here, workers only read."""

    def __init__(self, source: Source, device: torch.device, workers: int) -> None:
        self._source = source
        self._device = device
        self._workers = workers
        self._loaders: dict[str, tuple[DataLoader[Any], Order]] = {}
        self._reading: dict[str, list[Iterator[Any]]] = {}
        self._thread: ThreadPoolExecutor | None = None
        self._copies = torch.cuda.Stream(device) if device.type == "cuda" else None
        self.waited = 0.0

    def passes(self, use: str, order: Tensor, bounds: Bounds) -> Iterator[Raw]:
        """One pass at a time for each ``use``; a new one ends the one before. Raises TrainingError naming a lost file."""
        read = self._from_workers(use, order, bounds) if self._workers else self._from_thread(order, bounds)
        host = ((samples, order[first:end]) for (first, end), samples in zip(bounds, read, strict=True))
        return self._on_gpu(host) if self._copies else (Raw(s.to(self._device), i.to(self._device), i) for s, i in host)

    def close(self) -> None:
        """End the workers. A pass that is still held by someone finds nothing more."""
        for use in list(self._reading):
            self._end_pass(use)
        self._loaders.clear()
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)
            self._thread = None

    def _from_workers(self, use: str, order: Tensor, bounds: Bounds) -> Iterator[Tensor]:
        if use not in self._loaders:
            batches = Order()
            self._loaders[use] = self._loader(batches), batches
        loader, batches = self._loaders[use]
        numbers = order.numpy()
        batches.batches = lambda: (numbers[first:end] for first, end in bounds)
        self._end_pass(use)
        # In a list that can be emptied: whoever still holds an unfinished pass must not keep the workers alive.
        reading = self._reading[use] = [self._timed(lambda: iter(loader))]
        for _ in bounds:
            if not reading:
                raise RuntimeError(f"a newer pass over the samples to {use} has begun, or the data was closed")
            samples = self._timed(lambda: next(reading[0]))
            if isinstance(samples, Failure):
                raise TrainingError(samples.message, samples.advice)
            yield samples

    def _end_pass(self, use: str) -> None:
        if use in self._reading:
            self._reading.pop(use).clear()

    def _loader(self, batches: Order) -> DataLoader[Any]:
        return DataLoader(
            SampleReader(self._source),
            batch_sampler=batches,  # type: ignore[arg-type]  # whole arrays instead of lists: a tenth of the pickling
            num_workers=self._workers,
            collate_fn=_unchanged,
            worker_init_fn=_EndWithEngine() if self._workers else None,
            pin_memory=self._copies is not None,
            multiprocessing_context=worker_context(),
            # A generator of its own: torch draws a seed for the workers, by default from the global generator, and a
            # run would depend on how often that happened.
            generator=torch.Generator(),
            persistent_workers=True,
            prefetch_factor=_AHEAD,
        )

    def _from_thread(self, order: Tensor, bounds: Bounds) -> Iterator[Tensor]:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="read samples")
        thread = self._thread
        running: deque[Future[Tensor]] = deque()
        try:
            for first, end in bounds:
                running.append(thread.submit(self._read, order[first:end]))
                if len(running) == _AHEAD:
                    yield self._timed(running.popleft().result)
            while running:
                yield self._timed(running.popleft().result)
        finally:
            for future in running:
                future.cancel()

    def _read(self, indices: Tensor) -> Tensor:
        samples = self._source.read(indices)
        return samples.pin_memory() if self._copies else samples

    def _timed(self, wait: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        try:
            return wait()
        except RuntimeError as error:
            if "exited unexpectedly" not in str(error) and "killed by signal" not in str(error):
                raise
            raise TrainingError(
                "A worker process that reads samples ended unexpectedly; often memory is short.",
                "Use fewer workers (loader.workers).",
            ) from error
        finally:
            self.waited += time.perf_counter() - began

    def _on_gpu(self, host: Iterator[tuple[Tensor, Tensor]]) -> Iterator[Raw]:
        """Copy one batch ahead on a stream of its own, while the model computes."""
        ahead: tuple[Raw, torch.cuda.Event] | None = None
        for samples, indices in host:
            with torch.cuda.stream(self._copies):
                raw = Raw(
                    samples.to(self._device, non_blocking=True),
                    indices.pin_memory().to(self._device, non_blocking=True),
                    indices,
                )
                copied = torch.cuda.Event()
                copied.record()
            if ahead is not None:
                yield self._arrived(*ahead)
            ahead = raw, copied
        if ahead is not None:
            yield self._arrived(*ahead)

    def _arrived(self, raw: Raw, copied: torch.cuda.Event) -> Raw:
        computing = torch.cuda.current_stream(self._device)
        computing.wait_event(copied)
        for tensor in (raw.samples, raw.numbers):
            tensor.record_stream(computing)  # its memory must not be reused for the next copy while it is read
        return raw


class _EndWithEngine:
    """Run in each new worker; knows the process that made it."""

    def __init__(self) -> None:
        self._engine, self._started = os.getpid(), psutil.Process().create_time()

    def __call__(self, _worker: int) -> None:
        end_with(self._engine, self._started)


def _unchanged(batch: Any) -> Any:
    return batch
