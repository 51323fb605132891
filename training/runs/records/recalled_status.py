"""What a status record said that is lost or damaged, as the run's other files tell it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from training.events import EpochEnded, Failed, Validated
from training.runs.records.forms import BestCheckpoint
from training.runs.records.history import History


def recall(history: History, labels: Mapping[str, Any], monitor: str) -> dict[str, Any]:
    """Fields of a StatusRecord: how far the run came, what it measured last and at best, and how it ended. ``labels`` name its
    checkpoints, ``monitor`` the metric that makes one the best. Empty where no attempt began."""
    if not history.attempts:
        return {}
    attempt, final, validations = history.attempts[-1], history.final, history.validations
    last, best = (name if isinstance(name := labels.get(label), str) else None for label in ("last", "best"))
    number = last.rpartition("-")[2] if last else ""
    reached: list[Validated | EpochEnded] = [*validations, *history.epochs]
    latest: list[Validated | EpochEnded] = [*history.epochs[-1:], *validations[-1:]]
    steps = [each.step for each in reached] + [int(number) if number.isdecimal() else 0, getattr(final, "step", 0)]
    improved = next((each for each in reversed(validations) if each.improved and monitor in each.metrics), None)
    told: dict[str, Any] = {
        "status": final.kind if final is not None else "running",
        "step": max(steps),
        "epoch": max((each.epoch for each in reached), default=0),
        "epochs": attempt.epochs,
        "total_steps": attempt.total_steps,
        "metrics": {name: value for each in latest for name, value in each.metrics.items()},
        "last_checkpoint": last,
        "skipped_steps": len(history.skipped),
    }
    if improved is not None:
        told["best"] = BestCheckpoint(
            metric=monitor, value=improved.metrics[monitor], step=improved.step, checkpoint=best
        )
    if final is not None:
        told |= {"ended": final.time, "updated": final.time, "reason": getattr(final, "reason", "") or None}
    if isinstance(final, Failed):
        told |= {"advice": final.advice or None, "fix": dict(final.fix)}
    return told
