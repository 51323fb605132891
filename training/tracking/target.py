"""What a tracker is to the process that sends runs to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from training.runs.records.series import Rows
from training.tracking.ledger import Measured

STEP_METRICS = {"train/loss": "loss", "train/lr": "lr", "train/grad_norm": "grad_norm"}
"""What each number of a step is called in trackers."""


class Target(Protocol):
    """All may raise Away, having sent nothing or something that may be sent again, or Refused. What is sent before ``commit`` is sent
    again after a kill, so it has to replace what came of it before, or be taken back by ``open``."""

    def open(self, settings: Mapping[str, str], tags: Mapping[str, str]) -> None:
        """Begin, or go on with, the run there."""

    def send_points(self, rows: Rows) -> None:
        """Steps of the ledger that follow those sent before."""

    def send_measured(self, items: Sequence[Measured]) -> None:
        """Metrics that were measured, likewise."""

    def send_file(self, name: str, content: bytes) -> None:
        """A file, or a newer form of it."""

    def send_image(self, name: str, step: int, png: bytes) -> None:
        """An image that belongs to a step."""

    def forget_from(self, step: int) -> None:
        """What was sent of ``step`` and later is not so any more; raises nothing where that cannot be said there."""

    def commit(self) -> None:
        """What was sent is to be there from now on."""

    def end(self, final: Mapping[str, str]) -> None:
        """The attempt is over."""

    def close(self) -> None:
        """Let go of the connection."""
