"""The one allowed second text of the step: compiled by torch, or recorded as a CUDA graph. What it needs is loaded only then."""

from __future__ import annotations

from collections.abc import Callable

from training.caches.users import use_caches
from training.engine.compile.cuda_graph import wants_cuda_graph
from training.engine.session import Session

__all__ = ["compile_session"]


def compile_session(session: Session, report_progress: Callable[[str, float | None], object]) -> None:
    """Compile and record what ``[precision]`` says, ahead of the first step. Weights, state and random numbers stay as they
    are. Raises InputError, in one sentence, where this machine or this run does not allow it, and TrainingError where memory
    runs out.

    Nothing is compiled for the smaller batches of a run that ran out of memory: neither does the process that it happened
    to, and both have to compute the same bits. A roll back to before that may ask again.
    """
    recorded = wants_cuda_graph(session)
    compiled = session.compiled is not None or session.forward is not None
    if compiled or session.progress.batch_size or (session.config.precision.compile == "off" and not recorded):
        return
    from training.engine.compile.compiled_step import compile_parts

    with use_caches():
        compile_parts(session, recorded, report_progress)
