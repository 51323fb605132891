"""How an attempt begins in several processes: the first one says what is to be trained, the others do the same beside it."""

from __future__ import annotations

import logging
import os
import shutil
import socket
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from training.config import RunConfig
from training.control import Control
from training.engine.device import describe_device
from training.engine.ranks.control import RankControl
from training.engine.ranks.group import JoinedRanks
from training.engine.recovery.restore import FromStart, Resume, Restore
from training.engine.runs.hooks import Hooks
from training.engine.runs.run_writer import RunWriter
from training.engine.session import Session
from training.errors import TrainingError
from training.launch import torchrun
from training.launch.share import refuse_other_count
from training.runs.folder import RunFolder, write_first
from training.runs.records.ranks import RankRecord, RanksRecord, rank_folder, write_ranks
from training.runs.storage import explain_disk_errors

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Order:
    """What all ranks are to train, in which run's folder."""

    folder: Path
    config: RunConfig
    restore: Restore | None


def lead_ranks(folder: RunFolder, config: RunConfig, hooks: Hooks, restore: Restore | None) -> Hooks:
    """``hooks`` for an attempt that several processes make, of which this is the first, who have been told then; otherwise as they are.
    Raises InputError where so many cannot share the run."""
    ranks = hooks.ranks
    if ranks.count == 1 or ranks.rank:
        return hooks
    refuse_other_count(config.loop.slots, ranks.count)
    torchrun.tell_run(folder.path)
    ranks.share(Order(folder.path, config, _for_others(restore)))
    control = RankControl(hooks.control, ranks)
    ranks.watch(control.refuse_stop)
    return replace(hooks, control=control)


def _for_others(restore: Restore | None) -> Restore | None:
    """What those who only compute take over."""
    if isinstance(restore, FromStart):
        return FromStart([])
    if isinstance(restore, Resume):
        return replace(restore, refused=[], findings=[], places={}, beyond=None)
    return replace(restore, findings=[], places={}) if restore is not None else None


def follow(ranks: JoinedRanks, control: Control) -> None:
    """Train what the first rank says, writing what this one does beside the run. ``control`` hears what is asked of this process alone.
    Where it fails it tells the others, of which the first tells the person."""
    try:
        with ranks.failures_told():
            _follow(ranks, control)
    except TrainingError as error:
        logger.warning("%s", error)


def _follow(ranks: JoinedRanks, control: Control) -> None:
    from training.engine.runs.attempt import run_attempt

    order = ranks.share(None)
    if order is None:
        return
    folder = RunFolder(rank_folder(order.folder, ranks.rank))
    with explain_disk_errors(folder.path):
        shutil.rmtree(folder.path, ignore_errors=True)
        folder.path.mkdir(parents=True)
        write_first(folder, order.config)
    shared = RankControl(control, ranks)
    ranks.watch(shared.refuse_stop)
    hooks = Hooks(control=shared, followed=False, saves=False, ranks=ranks, main=RunFolder(order.folder))
    run_attempt(folder, order.config, hooks, order.restore, new=True)


def join_ranks(session: Session, writer: RunWriter) -> None:
    """From here on ``session`` makes each step together with the others, from the same numbers; the first writes down who they are."""
    ranks, control = writer.hooks.ranks, writer.hooks.control
    if ranks.count == 1 or session.shared is None:
        return
    assert isinstance(control, RankControl)
    told = ranks.gather(
        RankRecord(
            rank=ranks.rank,
            host=socket.gethostname(),
            process=os.getpid(),
            device=describe_device(session.device),
            threads=torch.get_num_threads(),
        )
    )
    if not ranks.rank:
        record = RanksRecord(slots=session.config.loop.slots, batch_size=session.config.loop.batch_size, ranks=tuple(told))
        with explain_disk_errors(writer.folder.path):
            write_ranks(writer.folder.path, record)
    ranks.begin_together()
    session.ranks = ranks
    session.shared.join(ranks, control.is_due)
    control.begin_together()

