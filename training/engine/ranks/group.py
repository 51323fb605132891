"""The processes of a run, and what they tell each other."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor

from training.control import StopRequested
from training.engine.ranks.keepalive import keep_alive
from training.errors import InputError, TrainingError, end_sentence, pluralize
from training.own_code.run_file import describe_placed
from training.system.process import birth, machine

Value = TypeVar("Value")

SILENCE_SECONDS = 7200.0
"""How long one may wait for another while all train, at the most: rank 0 alone saves, and keeps predictions. A process that ends and a link
that breaks are noticed at once, and in less than a minute."""
_LOOK_SECONDS = 0.02
_WORDS_SECONDS = 3.0  # for the last words of one that fails


FINE, FAILED = 0, 1 << 20
"""How it is with a rank where all meet; what is between is 1 more than the number of one that ran out of memory."""


class RankLost(TrainingError):
    """Another process of the run has ended."""


class OutOfMemoryElsewhere(RuntimeError):
    """Another rank ran out of memory in this very step, or pass: which one ("rank 1 of 2"), and how it was with its memory."""

    def __init__(self, who: str, shortage: str) -> None:
        super().__init__(f"{who} is out of memory: {shortage}")
        self.who, self.shortage = who, shortage


class Ranks:
    """One process: alone, with nobody to wait for. Where there are several, ``JoinedRanks``."""

    rank = 0
    count = 1
    local_rank = 0
    local_count = 1
    waited = 0.0
    """Seconds for which this one has waited until all had made their part of a step; who reads them sets them back."""

    def add(self, tensor: Tensor) -> None:
        """Put the sum over all ranks in the place of ``tensor``, which has the same shape everywhere."""

    def agree(self, *values: int) -> tuple[int, ...]:
        """The largest of each value over all ranks; no GPU is waited for."""
        return values

    def any_of(self, *flags: bool) -> tuple[bool, ...]:
        """Whether each is so in any rank. They are told as one number: gloo takes longer for several."""
        return flags

    def share(self, value: Value) -> Value:
        """What rank 0 says, which may take it long."""
        return value

    def gather(self, value: Value) -> list[Value]:
        """What all ranks say, by their number."""
        return [value]

    @contextmanager
    def one_first(self) -> Iterator[None]:
        """What is inside is done by rank 0 first, then by the others: what it leaves on disk need not be made again."""
        yield

    def name(self, rank: int) -> str:
        """ "rank 1 of 2": what a sentence calls it; "" for one that is alone."""
        return f"rank {rank} of {self.count}" if self.count > 1 else ""

    def tell_failure(self, error: BaseException) -> None:
        """Let the others know why this one ends, unless another one was first."""

    def tell_trouble(self, error: BaseException, shortage: str) -> int:
        """Let the others know, who wait for this one, what ``error`` kept it from being there; returns the state that it is in. ``shortage``
        says how it is with its memory, where it ran out of it, else it is ""."""
        if not shortage:
            self.tell_failure(error)
        return 1 + self.rank if shortage else FAILED

    def read_shortage(self, rank: int) -> str:
        """What another one said of its memory."""
        return ""

    @contextmanager
    def failures_told(self) -> Iterator[None]:
        """What is raised inside is told to the others."""
        try:
            yield
        except BaseException as error:
            self.tell_failure(error)
            raise

    def refuse_lost(self) -> None:
        """Raise RankLost where another one has said that it fails, or its process is gone."""

    def refuse_state(self, state: int) -> None:
        """Raise OutOfMemoryElsewhere, or RankLost, where ``state``, the worst of all ranks, is not FINE."""
        if state == FAILED:
            self.refuse_lost()
            raise RankLost("Another process of the run failed.", "Resume to go on from the last checkpoint.")
        if state != FINE:
            raise OutOfMemoryElsewhere(self.name(state - 1), self.read_shortage(state - 1))

    def take_over(self, tensors: Iterable[Tensor]) -> None:
        """Make them what they are in rank 0: another model of CPU may have rounded otherwise before the first step."""

    def begin_together(self) -> None:
        """From here on all ranks do the same at the same time, and answer each other at once."""

    def watch(self, look: Callable[[], object]) -> None:
        """``look`` is called while this one waits for another; what it raises ends the waiting."""

    def choose_device(self, device: torch.device) -> torch.device:
        """The one that this rank computes on, where ``device`` is what the settings mean."""
        return device


ALONE = Ranks()


class JoinedRanks(Ranks):
    """One of several processes that torchrun started. Numbers go through gloo on CPUs and NCCL on GPUs, other words through the store
    that torchrun keeps, which nobody has to answer at once."""

    _store: Any  # takes bytes, whatever its stub says

    def __init__(self) -> None:
        """Joins the others; raises InputError where they cannot be reached."""
        from torch import distributed

        self.rank, self.count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        self.local_count = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
        os.environ.setdefault("NCCL_NVLS_ENABLE", "0")  # in-network sums differ from call to call
        try:
            distributed.init_process_group(backend, timeout=timedelta(seconds=SILENCE_SECONDS))
        except (RuntimeError, ValueError) as error:
            text = " ".join(str(error).split())
            raise InputError(
                f"Rank {self.rank} of {self.count} could not reach the others: {text}",
                "Each process has to be able to open connections to the first one's machine (MASTER_ADDR, MASTER_PORT).",
            ) from error
        keep_alive()
        self._distributed: Any = distributed
        self._store = distributed.distributed_c10d._get_default_store()
        self._said = 0
        self._together = False
        self._look: Callable[[], object] = lambda: None
        self._store.set(self._key(f"process {self.rank}"), pickle.dumps((machine(), os.getpid())))

    def add(self, tensor: Tensor) -> None:
        self._collect(lambda: self._distributed.all_reduce(tensor))

    def agree(self, *values: int) -> tuple[int, ...]:
        told = torch.tensor(values)
        self._collect(lambda: self._distributed.all_reduce(told, self._distributed.ReduceOp.MAX))
        return tuple(told.tolist())

    def any_of(self, *flags: bool) -> tuple[bool, ...]:
        told = torch.tensor([sum(flag << place for place, flag in enumerate(flags))])
        self._collect(lambda: self._distributed.all_reduce(told, self._distributed.ReduceOp.BOR))
        bits = int(told)
        return tuple(bool(bits >> place & 1) for place in range(len(flags)))

    def share(self, value: Value) -> Value:
        if self._together:
            told = self._pad(pickle.dumps(value) if self.rank == 0 else b"")
            self._collect(lambda: self._distributed.broadcast(told, 0))
            return value if self.rank == 0 else _unpack(told)
        key = self._next_key()
        if self.rank == 0:
            self._store.set(key, pickle.dumps(value))
            return value
        return self._read(key)

    def gather(self, value: Value) -> list[Value]:
        if self._together:
            told = self._pad(pickle.dumps(value))
            found = [torch.empty_like(told) for _ in range(self.count)]
            self._collect(lambda: self._distributed.all_gather(found, told))
            return [_unpack(each) for each in found]
        key = self._next_key()
        self._store.set(f"{key} {self.rank}", pickle.dumps(value))
        return [self._read(f"{key} {rank}") for rank in range(self.count)]

    def take_over(self, tensors: Iterable[Tensor]) -> None:
        for tensor in tensors:
            told = tensor.detach().contiguous()
            self._collect(partial(self._distributed.broadcast, told, 0))
            tensor.detach().copy_(told)

    def begin_together(self) -> None:
        self._together = True

    @contextmanager
    def one_first(self) -> Iterator[None]:
        if self.rank:
            self.share(None)
        yield
        if not self.rank:
            self.share(None)

    def tell_failure(self, error: BaseException) -> None:
        if isinstance(error, RankLost):
            return
        text = f"failed: {error.message if isinstance(error, TrainingError) else describe_placed(error)}"
        if isinstance(error, StopRequested | KeyboardInterrupt):
            text = "was asked to stop"
        with suppress(RuntimeError):  # the store is gone, and with it all who would read it
            self._store.set(self._key(f"failed {self.rank}"), " ".join(text.split()))

    def tell_trouble(self, error: BaseException, shortage: str) -> int:
        if shortage:
            self._store.set(self._key(f"shortage {self.rank}"), shortage)
        return super().tell_trouble(error, shortage)

    def read_shortage(self, rank: int) -> str:
        return str(self._store.get(self._key(f"shortage {rank}")).decode())

    def watch(self, look: Callable[[], object]) -> None:
        self._look = look

    def choose_device(self, device: torch.device) -> torch.device:
        if device.type == "cuda":
            if self.local_rank >= torch.cuda.device_count():
                raise InputError(
                    f"--ranks: {self.local_count} processes were started, and this machine has {pluralize(torch.cuda.device_count(), 'GPU')}; "
                    "start as many at the most, or set precision.device to cpu."
                )
            device = torch.device("cuda", self.local_rank)
            torch.cuda.set_device(device)
        return device

    def leave(self) -> None:
        """Let go of the connections."""
        if self._distributed.is_initialized():
            self._distributed.destroy_process_group()

    def _pad(self, told: bytes) -> Tensor:
        """As long as the longest of all ranks, the true length before it."""
        (most,) = self.agree(len(told))
        return torch.frombuffer(bytearray(len(told).to_bytes(8) + told + bytes(most - len(told))), dtype=torch.uint8)

    def _key(self, name: str) -> str:
        return f"trainwright {name}"

    def _next_key(self) -> str:
        self._said += 1
        return self._key(str(self._said))

    def _read(self, key: str) -> Any:
        while not self._store.check([key]):
            self._look()
            self.refuse_lost()
            time.sleep(_LOOK_SECONDS)
        return pickle.loads(self._store.get(key))  # of our own processes alone

    def _collect(self, work: Callable[[], object]) -> None:
        try:
            work()
        except RuntimeError as error:
            until = time.monotonic() + _WORDS_SECONDS
            while time.monotonic() < until:
                self.refuse_lost()
                time.sleep(_LOOK_SECONDS)
            text = " ".join(str(error).split())
            raise RankLost(
                f"The connection to another of the {self.count} processes broke: {text}",
                "Resume to go on from the last checkpoint, in as many processes or in fewer.",
            ) from error

    def refuse_lost(self) -> None:
        for rank in self._others:
            if self._store.check([self._key(f"failed {rank}")]):
                how = self._store.get(self._key(f"failed {rank}")).decode()
                told = end_sentence(f"Rank {rank} of {self.count} {how}")
                raise RankLost(
                    told, "Resume once that is mended." if how.startswith("failed") else "Resume it when you like."
                )
        for rank in self._others:
            if not self._store.check([self._key(f"process {rank}")]):
                continue
            where, process = pickle.loads(self._store.get(self._key(f"process {rank}")))
            if where == machine() and birth(process) is None:
                log = f"ranks/{rank}/log.txt" if rank else "log.txt"
                raise RankLost(
                    f"Rank {rank} of {self.count} (process {process}) has ended without a word: it was killed, or it crashed.",
                    f"Resume to go on from the last checkpoint. Where memory is short, use fewer processes; the log of that rank is {log} in the run's folder.",
                )

    @property
    def _others(self) -> Sequence[int]:
        return [rank for rank in range(self.count) if rank != self.rank]


def _unpack(told: Tensor) -> Any:
    data = told.numpy().tobytes()
    return pickle.loads(data[8 : 8 + int.from_bytes(data[:8])])  # of our own processes alone
