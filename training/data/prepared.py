"""What a run leaves for the next one of the same process: its data, opened, checked, loaded and measured."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch

from training.config import RunConfig
from training.config.paths import path_settings
from training.config.sections.data.images import ImageTableDataset, SegmentationDataset
from training.config.sections.data.own_data import OwnDataSection
from training.config.sections.data.torchvision_sets import KnownSetSection
from training.data.batching.batches import Data
from training.data.exclude import find_list
from training.data.preparation import prepare, require_task
from training.data.source import ReportProgress
from training.data.torchvision_sets import own_folder
from training.exclude_list import digest_entries, read_exclude_list
from training.system.host_memory import HostMemory, host_memory
from training.system.process import give_back_memory

_FRESH = 3.0  # seconds: a file written this short before may be written again without its times showing it
_IDLE = 600.0  # seconds until data that nobody asked for again is dropped
_SPARE = 0.1  # share of all memory that stays free beside the data


class Preparing(Protocol):
    """Where a session has its data from."""

    def prepare(
        self,
        config: RunConfig,
        device: torch.device,
        report_progress: ReportProgress,
        code: Path | None = None,
        excluded: Path | None = None,
    ) -> Data:
        """As ``training.data.prepare``."""
        ...


@dataclass(frozen=True)
class _Kept:
    """``state`` tells the files apart from what they may become, ``size`` is the bytes that the samples take."""

    key: tuple[str, ...]
    state: tuple[int | None, ...]
    data: Data
    size: int


class PreparedData:
    """At most one dataset. A run that asks for the very same one gets it without reading it again, to the bit.

    It is let go of before another one is opened, when memory is short, and after ten minutes without a run.
    """

    def __init__(self, memory: Callable[[], HostMemory] = host_memory, clock: Callable[[], float] = time.time) -> None:
        self._memory = memory
        self._clock = clock
        self._kept: _Kept | None = None
        self._used = 0.0

    @property
    def size(self) -> int:
        """Bytes that are kept; 0 when nothing is."""
        return self._kept.size if self._kept else 0

    def prepare(
        self,
        config: RunConfig,
        device: torch.device,
        report_progress: ReportProgress,
        code: Path | None = None,
        excluded: Path | None = None,
    ) -> Data:
        """The data of ``config``: that of the last run where nothing about it changed, else as ``prepare`` makes it."""
        dataset = config.dataset
        if isinstance(dataset, OwnDataSection):  # what its code reads besides nobody knows
            self.drop()
            return prepare(config, device, report_progress, code, excluded)
        paths = [getattr(dataset, name) for name in path_settings(type(dataset)) if name != "exclude"]
        if isinstance(dataset, ImageTableDataset) and dataset.images is None:
            paths.append(str(Path(dataset.path).parent))  # where the images are, too
        if isinstance(dataset, SegmentationDataset):
            paths += dataset.folders_elsewhere
        if isinstance(dataset, KnownSetSection) and dataset.path is None:
            paths.append(str(own_folder()))
        where = [str(Path(path).absolute()) for path in paths if path is not None]
        file = find_list(dataset, excluded)  # of which a run has a copy of its own
        listed = None if file is None else read_exclude_list(file)
        known = "" if listed is None else digest_entries(listed)
        key = (dataset.model_dump_json(), *where, known, config.loader.model_dump_json(), str(device))
        states = [state_of_files(path, self._clock() - _FRESH) for path in where]
        state = None if None in states else tuple(states)
        self._used = self._clock()
        if self._kept is not None and state is not None and (self._kept.key, self._kept.state) == (key, state):
            require_task(config, self._kept.data.facts.target)  # the objective may be another one
            report_progress("taking the data of the last run", None)
            return self._kept.data.reopen(config)
        self.drop()
        data = prepare(config, device, report_progress, excluded=excluded, listed=listed)
        if state is not None:  # looked at before the files were: what changes meanwhile is noticed next time
            self._kept = _Kept(key, state, _for_later(data, config), data.report.batches.bytes)
        return data

    def rest(self) -> None:
        """Between two requests, now and then: let go of what is not worth its memory."""
        memory = self._memory()
        short = memory.available < max(self.size, memory.total * _SPARE)
        if short or self._clock() - self._used > _IDLE:
            self.drop()

    def drop(self) -> None:
        """Let go of everything."""
        if self._kept is not None:
            self._kept.data.close()
            self._kept = None
            give_back_memory()  # the allocator would keep it, and neither others nor the next dataset would have room


def _for_later(data: Data, config: RunConfig) -> Data:
    """A twin that says where the next run has its samples from: this one's opening is none of its own."""
    twin = data.reopen(config)
    batches = twin.report.batches
    reason = f"{batches.reason.removesuffix(f'; {data.source.supply}')}; the run before has opened them"
    twin.report = twin.report.model_copy(update={"batches": batches.model_copy(update={"reason": reason})})
    return twin


def state_of_files(path: str, before: float) -> int | None:
    """A number that changes when a file below ``path`` is added, removed, renamed or written (or ``path`` itself, where it
    is a file); about 2 us a file.

    None where that cannot be told: a folder behind a link, something that cannot be read, or a file that changed after
    ``before`` (seconds since 1970), since the clocks of file systems tick slowly, some by two seconds.
    """
    state = 0
    try:
        for place, status in _visit(path):
            changed = max(status.st_mtime_ns, status.st_ctime_ns)
            link = place != path and stat.S_ISDIR(status.st_mode) and os.path.islink(place)  # noqa: PTH114
            if changed > before * 1e9 or link:
                return None
            # Added up, since entries come in no order; hashed with its own path, so that nothing cancels.
            facts = (place, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
            state = (state + hash(facts)) & 0xFFFF_FFFF_FFFF_FFFF
    except OSError:
        return None
    return state


def _visit(place: str) -> Iterator[tuple[str, os.stat_result]]:
    """What the system says of ``place`` and of everything below it."""
    places = [place]
    while places:
        place = places.pop()
        status = os.stat(place)
        yield place, status
        if stat.S_ISDIR(status.st_mode):
            with os.scandir(place) as entries:
                places += [entry.path for entry in entries]
