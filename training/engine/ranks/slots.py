"""A session whose batches are cut into slots, which processes may share."""

from __future__ import annotations

import torch

from training.config.sections.user_file import UserFile
from training.data.batching.slots import Piece, Slots, draw_seed
from training.engine.ranks.group import Ranks
from training.engine.ranks.shared_step import SharedStep
from training.engine.session import Session
from training.launch.share import refuse_other_count
from training.own_code.user_rng import set_user_seed


def share_slots(session: Session, ranks: Ranks) -> None:
    """Give this rank its slots; nothing where the settings have but one. Raises InputError where the slots cannot be
    shared."""
    config, data = session.config, session.data
    count = config.loop.slots
    refuse_other_count(count, ranks.count)
    if count == 1:
        return
    each = count // ranks.count
    least = (
        2 if config.loop.batch_size >= 2 * count else 1
    )  # batch normalization has nothing to normalize over with one sample
    data.slots = Slots(count, range(ranks.rank * each, (ranks.rank + 1) * each), least)

    def begin(epoch: int, window: int, piece: Piece) -> None:
        seed = draw_seed(config.seed, epoch, window, piece)
        torch.manual_seed(seed)
        if session.runs_user_code:
            set_user_seed(seed, "slot", piece.slot)

    data.begin_piece = begin
    own = isinstance(config.model, UserFile)
    session.shared = SharedStep(session.model, session.parameters, own)
