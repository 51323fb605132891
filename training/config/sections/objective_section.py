"""What is known of every task."""

from __future__ import annotations

from typing import ClassVar

from training.config.fields import Section
from training.facts import Target


class ObjectiveSection(Section):
    """What is known of every task: the targets it takes, and what it reports."""

    takes: ClassVar[tuple[Target, ...]]
    reports: ClassVar[tuple[str, ...]]
    compares_samples: ClassVar[bool] = False
    """Whether its loss compares the samples of a batch with each other."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """What it reports beside the loss, the usual one first; some only where the data allows them."""
        return self.reports
