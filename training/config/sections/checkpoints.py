"""``[checkpoints]``: when to save, and which checkpoint counts as best."""

from __future__ import annotations

from training.config.fields import Count, Section, setting
from training.metric_names import METRICS


class Checkpoints(Section):
    """When to save, and which checkpoint counts as best."""

    every_steps: Count | None = setting(
        500,
        "Checkpoint every N steps",
        "Steps between two checkpoints, exactly: where the disk is slower, training waits until the one before is written, and says "
        "what that costs. Empty: only at the end of each epoch.",
        also="save every",
        unit="steps",
        placeholder="each epoch",
        affects_result=False,
    )
    keep_last: int = setting(
        3,
        "Keep last N checkpoints",
        "How many of the newest checkpoints stay on disk; the best one always stays.",
        also="save_total_limit save_top_k",
        affects_result=False,
        ge=1,
        le=10**4,
    )
    monitor: str = setting(
        "auto",
        "Monitor (metric)",
        "The metric that decides which checkpoint is best, early stopping and ReduceLROnPlateau. auto takes the one that "
        "is usual for the task.",
        also="best by",
        suggestions=("auto", *(f"val/{metric.name}" for metric in METRICS)),
        min_length=1,
    )
