"""A loss that is not finite, of a validation or of the first batch, computed once more under watch: in the network, its averaged weights,
its buffers, or the loss."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import torch

from training.data.batching.batches import Batch
from training.engine.evaluate import measure_quietly
from training.engine.recovery.cause import Cause, describe_first, describe_measured
from training.engine.recovery.producer import INPUT, TARGET, Trace
from training.engine.session import Session
from training.events import Finding

logger = logging.getLogger(__name__)


def explain_validation(session: Session) -> Finding | None:
    """What produced the first number of the validation part that is not finite; None where each batch's loss is. Training goes on as if
    nobody had looked."""
    try:
        with measure_quietly(session, "validation"):
            session.answer.eval()
            cause = _search(session, session.data.evaluation_batches("validation"))
    except Exception:
        logger.exception("The validation could not be computed again")
        return None
    return describe_measured(session, cause) if cause is not None else None


@torch.no_grad()
def explain_first_batch(session: Session) -> Finding | None:
    """The same of the first batch of training, of a session that is spent afterwards."""
    session.answer.train()
    cause = _search(session, next(iter(session.data.steps(0))))
    return describe_first(session, cause) if cause is not None else None


def _search(session: Session, batches: Iterable[Batch]) -> Cause | None:
    for batch in batches:
        trace = Trace(session.model, batch.indices, {INPUT: batch.inputs, TARGET: batch.targets})
        with trace.forward():
            with session.numerics.autocast():
                outputs = session.answer(batch.inputs)
            loss = session.objective.loss.sum(outputs, batch.targets)
        if not loss.isfinite().all():
            return Cause("forward", trace.origin_of(loss))
    return None
