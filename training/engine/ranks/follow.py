"""A rank other than the first: it trains what that one says."""

from __future__ import annotations

import logging
import shutil

from training.control import Control
from training.engine.ranks.control import RankControl
from training.engine.ranks.group import JoinedRanks
from training.engine.runs.attempt import run_attempt
from training.engine.runs.hooks import Hooks
from training.errors import TrainingError
from training.runs.folder import RunFolder, write_first
from training.runs.records.ranks import rank_folder
from training.runs.storage import explain_disk_errors

logger = logging.getLogger(__name__)


def follow(ranks: JoinedRanks, control: Control) -> None:
    """Train what the first rank says, writing what this one does beside the run. ``control`` hears what is asked of this process alone.
    Where it fails it tells the others, of which the first tells the person."""
    try:
        with ranks.failures_told():
            _follow(ranks, control)
    except TrainingError as error:
        logger.warning("%s", error)


def _follow(ranks: JoinedRanks, control: Control) -> None:
    order = ranks.share(None)
    if order is None:
        return
    folder = RunFolder(rank_folder(order.folder, ranks.rank))
    with explain_disk_errors(folder.path):
        folder.path.mkdir(parents=True, exist_ok=True)
        for path in folder.path.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path != folder.log_file:  # which may tell why the attempt before ended
                path.unlink()
        write_first(folder, order.config)
    shared = RankControl(control, ranks)
    ranks.watch(shared.refuse_stop)
    hooks = Hooks(control=shared, followed=False, saves=False, ranks=ranks, main=RunFolder(order.folder))
    run_attempt(folder, order.config, hooks, order.restore, new=True)
