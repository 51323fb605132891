"""A report of data that never was, and one as the window hears it."""

from __future__ import annotations

from typing import Any

from training.config import RunConfig
from training.data_report import DataReport, InputStats, Placement


def make_report(**changes: Any) -> DataReport:
    report = DataReport(
        kind="image_folder", layout="image", target="class", classes=("a", "b"), class_count=2,
        counts={"train": (1, 1)}, target_mean=(), target_std=(), samples={"train": 2}, shape=(1, 2, 2),
        skipped=(), skipped_total=0, notes=(), fingerprint="",
        normalisation=InputStats(mean=(0.5,), std=(0.5,)),
        batches=Placement(mode="resident", reason="8 bytes of images fit in memory", bytes=8),
    )  # fmt: skip
    return report.model_copy(update=changes)


def inspect(config: RunConfig, samples: int = 24) -> dict[str, Any]:
    """What the window hears of the dataset."""
    from training.data.inspect import inspect_dataset  # with torch, which the window's tests do without

    return inspect_dataset(config, samples).model_dump(mode="json", exclude_unset=True)
