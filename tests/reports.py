"""A report of data that never was."""

from __future__ import annotations

from typing import Any

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
