"""What a batch takes of the memory: two real steps and a validation batch of it, in a process of its own."""

from __future__ import annotations

from itertools import chain, islice
from typing import Any

import psutil
import torch

from training.config import parse_config
from training.core import evaluation
from training.engine.assemble import assemble
from training.engine.device import ran_out_of_memory
from training.engine.recovery.memory import count_saved_bytes
from training.engine.session import Session
from training.engine.step import train_step
from training.errors import InputError
from training.objectives import MetricSet
from training.system.host_memory import forget_peak, host_memory, peak_resident

_STEPS = 2  # the first makes the optimizer's state, so that the second alone has all in memory


def try_batch(settings: dict[str, Any]) -> dict[str, Any]:
    """Whether the configuration fits: ``fits``, the ``peak`` of memory in bytes and the ``limit`` of what there is, each with what others hold
    left out; ``samples`` of the training part."""
    config = parse_config(settings, "the configuration")
    free = host_memory().available + psutil.Process().memory_info().rss
    session = assemble(config, lambda *_: None)
    try:
        on_gpu = session.device.type == "cuda"
        limit = _find_free(session.device) if on_gpu else free
        told: dict[str, Any] = {
            "limit": limit,
            "samples": len(session.data.splits["train"]),
            "device": session.device.type,
        }
        forget_peak()
        try:
            _work(session)
        except (RuntimeError, MemoryError, InputError) as error:
            if not ran_out_of_memory(error):
                raise
            return {**told, "fits": False, "peak": None}
        # A checkpoint copies this while the run goes on: on the computer's side.
        copied = 0 if on_gpu else count_saved_bytes(session)
        peak = torch.cuda.max_memory_reserved(session.device) if on_gpu else peak_resident() + copied
        return {**told, "fits": peak <= limit, "peak": int(peak)}
    finally:
        session.data.close()


def _find_free(device: torch.device) -> int:
    """Of a GPU's memory, all that others do not hold."""
    free, _total = torch.cuda.mem_get_info(device)
    return int(free + torch.cuda.memory_reserved(device))


def _work(session: Session) -> None:
    objective, data = session.objective, session.data
    for window in islice(chain(data.steps(0), data.steps(0)), _STEPS):  # an epoch may have but one
        train_step(session, window, session.next_lr())
        session.progress.count_step()
    metrics = MetricSet(objective.metrics, objective.tables)
    pairs = ((batch.inputs, batch.targets) for batch in islice(data.evaluation_batches("validation"), 1))
    evaluation.evaluate(session.answer, pairs, objective.loss, metrics.metric, autocast=session.numerics.autocast)
