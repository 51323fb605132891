"""``Workers``: the processes that read samples, and others in their place when they die."""

from __future__ import annotations

import errno
import logging
import math
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakSet

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, get_worker_info

from training.data.batching.processes import (
    MOST_DEATHS,
    deaf_to_the_terminal,
    end_with,
    stop_fork_server,
    worker_context,
)
from training.data.batching.resident import Bounds, Notice
from training.errors import TrainingError
from training.system.process import birth, free_files

logger = logging.getLogger(__name__)

AHEAD = 3  # pieces that each worker reads before they are asked for, where no setting says how many
_FILES, _FILES_EACH = 10, 4
"""Open files that a set of workers takes, and each of them: measured with 1 to 8, and two more, so that the set that comes next finds
what was promised to it."""
_REPLACED = Notice(
    "A worker process that reads samples ended unexpectedly; another took its place and no sample was lost.",
    "If it happens again, memory is probably short: use fewer workers (loader.workers).",
)


_SETS: WeakSet[Workers[Any]] = WeakSet()
"""All that were made and not yet forgotten."""
T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Reader(Protocol[T_co]):
    """What is sent to each worker once, by pickle, and asked there: a Source, for one."""

    def read(self, indices: Tensor) -> T_co:
        """What belongs to the int64 (n,) ``indices``; tensors in it are handed over in shared memory."""
        ...

    def take_notices(self) -> list[Notice]: ...


def new_pixels(shape: tuple[int, ...]) -> Tensor:
    """uint8 of any content; in a worker such as can be handed over without a copy."""
    if get_worker_info() is None:
        return torch.empty(shape, dtype=torch.uint8)
    # As torch's own default_collate makes its batches; share_memory_() would copy what is nothing yet.
    storage = torch.UntypedStorage._new_shared(math.prod(shape))
    return torch.empty(0, dtype=torch.uint8).set_(storage).view(shape)


def give_back_processes() -> None:
    """End what starts workers, where no others are at work: of samples that are in memory there is nothing more to read."""
    if not any(each.is_at_work for each in _SETS):
        stop_fork_server()


class BatchReader(Dataset[Any]):
    """A Reader as torch's DataLoader wants it: whole batches at once."""

    def __init__(self, source: Reader[Any]) -> None:
        self._source = source

    def __getitems__(self, indices: NDArray[np.int64]) -> tuple[Any, list[Notice]] | TrainingError:
        try:
            return self._source.read(torch.from_numpy(indices)), self._source.take_notices()
        except TrainingError as error:  # raised here, torch would bury its sentence in a traceback
            return error


class Order:
    """The batches of the pass that is about to begin; stays in this process, so a pass can begin anywhere."""

    def __init__(self) -> None:
        self.batches: Callable[[], Iterator[NDArray[np.int64]]] = lambda: iter(())

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        return self.batches()


class Workers(Generic[T]):
    """``count`` processes, started with the first pass and kept for the next ones.

    A batch is a function of the order alone. So when a worker dies (a SIGKILL, the system short of memory, the fork
    server gone), all are replaced and go on with the batch that has not arrived; ``tell`` hears of it once a pass.
    ``hear`` is given what the source has to say in the workers. ``sets`` of so many processes, this one first, are to work at once:
    the first is not started where there is no room for all. Each process reads ``ahead`` batches before they are asked for.
    """

    def __init__(
        self,
        source: Reader[T],
        count: int,
        pinned: bool,
        tell: Callable[[Notice], None],
        hear: Callable[[list[Notice]], None],
        sets: int = 1,
        ahead: int = AHEAD,
    ) -> None:
        self._sets = sets
        self._ahead = ahead
        self._order = Order()
        self._count = count
        self._pinned = pinned
        self._source = source
        self._tell = tell
        self._hear = hear
        self._loader: DataLoader[Any] | None = None
        _SETS.add(self)
        # In a list that can be emptied: whoever still holds an unfinished pass must not keep the workers alive.
        self._reading: list[Iterator[Any]] = []

    def batches(self, order: Tensor, bounds: Bounds) -> Iterator[T]:
        """For each (first, end) what is read of ``order[first:end]``; a new pass ends the one before.

        Raises TrainingError that names a lost file, or says that they die again and again.
        """
        self.end_pass()
        mine = self._reading
        numbers = order.numpy()
        told = False
        for position in range(len(bounds)):
            deaths = 0
            while True:
                if self._reading is not mine:
                    raise RuntimeError("a newer pass over these samples has begun, or the data was closed")
                try:
                    if not mine:
                        mine.append(self._begin(numbers, bounds[position:]))
                    found = next(mine[0])
                    break
                except (RuntimeError, OSError, EOFError) as error:
                    deaths += 1
                    self._look_into(error, deaths)
                mine.clear()
                self._loader = None  # its remaining workers end with it
                if not told:
                    self._tell(_REPLACED)
                told = True
            if isinstance(found, TrainingError):
                raise found
            samples, notices = found
            self._hear(notices)
            yield samples

    @property
    def is_at_work(self) -> bool:
        """Whether there are processes."""
        return self._loader is not None

    def end_pass(self) -> None:
        """Whoever still holds the pass finds nothing more."""
        self._reading.clear()
        self._reading = []

    def close(self) -> None:
        """End the processes."""
        self.end_pass()
        self._loader = None

    def _begin(self, numbers: NDArray[np.int64], bounds: Bounds) -> Iterator[Any]:
        if self._loader is None:
            room = free_files()
            if room is not None and room < self._sets * (_FILES + _FILES_EACH * self._count):
                raise self._too_many_files(f"only {room} more may be")  # torch would leave half-made workers behind
            self._loader, self._sets = self._make_loader(), 1  # one that takes its place needs no more
        self._order.batches = lambda: (numbers[first:end] for first, end in bounds)
        with deaf_to_the_terminal():
            return iter(self._loader)

    def _look_into(self, error: Exception, deaths: int) -> None:
        """Raise ``error`` if it is not a worker's death, or the sentence about it if that was the last one borne."""
        if _is_of_too_many_files(error):
            raise self._too_many_files(str(error).rpartition("\n")[2]) from error
        if str(error).startswith("Caught "):  # torch's words for what the source raised inside a worker that lives
            raise error
        logger.warning("A worker process that reads samples ended: %s", error)
        if deaths == MOST_DEATHS:
            raise TrainingError(
                f"A worker process that reads samples ended unexpectedly, {deaths} times in a row; often memory is short.",
                "Resume with fewer workers (loader.workers), or with 0.",
                {"loader.workers": 0},
            ) from error

    def _too_many_files(self, why: str) -> TrainingError:
        return TrainingError(
            f"Too many files are open for loader.workers = {self._count} ({why}).",
            "Allow more before the start (ulimit -n 4096), or resume with fewer workers, or with 0.",
            {"loader.workers": 0},
        )

    def _make_loader(self) -> DataLoader[Any]:
        return DataLoader(
            BatchReader(self._source),
            batch_sampler=self._order,  # type: ignore[arg-type]  # whole arrays, not lists: a tenth of the pickling
            num_workers=self._count,
            collate_fn=_keep,
            worker_init_fn=partial(end_with, os.getpid(), birth(os.getpid())),
            pin_memory=self._pinned,
            multiprocessing_context=worker_context(),
            # A generator of its own: torch draws a seed for the workers, by default from the global generator, and a
            # run would depend on how often that happened.
            generator=torch.Generator(),
            persistent_workers=True,
            prefetch_factor=self._ahead,
        )


def _is_of_too_many_files(error: Exception) -> bool:
    """Whether the system refused to open one more, to this process or a worker. Tensors are handed over as open files, too;
    one that cannot be taken is missing from what accompanied the message."""
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return True
    return any(words in str(error) for words in ("Too many open files", "items of ancillary data"))


def _keep(batch: Any) -> Any:
    return batch
