"""How an attempt begins in several processes: the first one says what is to be trained, the others do the same beside it."""

from __future__ import annotations

import logging
import os
import socket
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from training.config import RunConfig
from training.engine.device import describe_device
from training.engine.ranks.control import RankControl
from training.engine.recovery.restore import FromStart, Restore, Resume
from training.engine.runs.hooks import Hooks
from training.engine.runs.run_writer import RunWriter
from training.engine.session import Session
from training.engine.watches.loss_parts import LossParts
from training.launch import torchrun
from training.launch.share import refuse_one_device, refuse_other_count
from training.runs.folder import RunFolder
from training.runs.records.ranks import RankRecord, RanksRecord, write_ranks
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
    refuse_one_device(config.precision.device, ranks.count)
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
        record = RanksRecord(
            slots=session.config.loop.slots, batch_size=session.config.loop.batch_size, ranks=tuple(told)
        )
        with explain_disk_errors(writer.folder.path):
            write_ranks(writer.folder.path, record)
    ranks.begin_together()
    averages = session.ema.shadow.values() if session.ema is not None else ()
    held = (value for value in session.model.state_dict().values() if isinstance(value, torch.Tensor))
    ranks.take_over([*held, *averages])
    session.remember_state()
    session.ranks = ranks
    shared = session.shared
    shared.join(ranks, control.asks)
    for watch in session.watches:
        if isinstance(watch, LossParts):
            watch.join(ranks, session.device)
    control.begin_together(lambda: shared.due)
