"""``--ranks``: a run that several processes share, and what each of them does."""

from __future__ import annotations

import argparse
import os
import signal
import time
from collections.abc import Callable
from typing import Any

from training.cli.probe import run_timed
from training.config import RunConfig
from training.control import LEFT_ALONE, TERM_REASON, Control
from training.errors import InputError, TrainingError
from training.launch import torchrun
from training.launch.share import refuse_here, refuse_other_count, with_slots
from training.runs.folder import RunFolder
from training.streams import say

Read = Callable[[], tuple[RunConfig, bool]]
Train = Callable[[argparse.Namespace, Any], int]


def train_in_ranks(
    arguments: argparse.Namespace, read: Read, train: Train, timed: bool = False, made: RunFolder | None = None
) -> int:
    """Train as the arguments say: here, in the processes that are to be started, or as one of those that were. ``read`` finds the configuration
    that is to be trained, and whether that is a new run, which may have other slots than it says; ``train`` trains as the only process, or
    the first of several. ``timed``: a long run's processes are timed against one before it begins; ``made`` is the run that was made for that, where one was."""
    if torchrun.world_size() > 1:
        return _take_part(arguments, train)
    count = count_processes(arguments.ranks or 1)
    if count == 1:
        code = train(arguments, None)
        return torchrun.end_with(code) if torchrun.is_started() else code
    refuse_here()
    (config, is_new), words = read(), list(arguments.words)
    slots = config.loop.slots
    if is_new:
        config = with_slots(config, count, say)
    refuse_other_count(config.loop.slots, count)
    if config.loop.slots != slots:
        words += ["--set", f"loop.slots={count}"]
    return run_timed(words, count, config, made) if timed else torchrun.run_in_ranks(words, count)


def _take_part(arguments: argparse.Namespace, train: Train) -> int:
    from training.engine.ranks.follow import follow
    from training.engine.ranks.group import JoinedRanks

    if not torchrun.rank():
        torchrun.tell_process()
    ranks = JoinedRanks()
    torchrun.call_when_gone(torchrun.supervisors(), lambda: _end_alone(ranks.rank))
    try:
        if ranks.rank:
            control = Control()
            for number in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, lambda _number, _frame: control.request_stop())
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            follow(ranks, control)
            return 0
        with ranks.failures_told():
            return torchrun.end_with(train(arguments, ranks))
    except TrainingError as error:  # told here, or who supervises takes this process for one that was killed
        say(str(error))
        return torchrun.end_with(error.exit_code)
    except KeyboardInterrupt:
        torchrun.end_with(130)
        raise
    finally:
        ranks.leave()


def _end_alone(rank: int) -> None:
    """Stop the run: who had begun it is gone. The others let the first one say why."""
    if rank:
        time.sleep(2 * torchrun.PARENT_SECONDS)
    os.environ[TERM_REASON] = LEFT_ALONE
    signal.raise_signal(signal.SIGTERM)


def count_processes(asked: int | str) -> int:
    """As many as ``--ranks`` asks for, "all": one for each GPU. Raises InputError where there is none."""
    if asked != "all":
        return int(asked)
    count = _count_gpus()
    if count == 1:
        say("There is one GPU here, so one process trains.")
    return count


def _count_gpus() -> int:
    import torch

    count = torch.cuda.device_count()
    if not count:
        raise InputError(
            "--ranks all: torch finds no GPU here.", "Give a number of processes to share the CPU, such as --ranks 2."
        )
    return count
