"""``Rule``: what a finding of one code means, from what threshold on, and who says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from training.errors import TrainingError
from training.events import Finding, FindingLevel


@dataclass(frozen=True)
class Rule:
    """``code`` is "family.name". ``test`` says from what threshold on it is found, ``unless`` where it is not, against false alarms;
    ``source`` names what the threshold rests on; ``fix`` says what is proposed, "" where no setting mends it."""

    code: str
    title: str
    test: str
    source: str
    unless: str = ""
    fix: str = ""

    def find(
        self,
        level: FindingLevel,
        title: str,
        advice: str = "",
        *,
        place: str = "",
        evidence: Mapping[str, Any] | None = None,  # as JSON has it
        fix: Mapping[str, Any] | None = None,
        step: int = 0,
        since: int | None = None,
    ) -> Finding:
        """A finding of this code, found at ``step``. ``place`` says of which column, part, module or setting it is, where there are several; ``since``
        is the step at which it began."""
        return Finding(
            level=level,
            title=title,
            advice=advice,
            code=self.code,
            place=place,
            evidence=evidence or {},
            fix=fix or {},
            step=step,
            since=since,
        )

    def find_error(self, error: TrainingError) -> Finding:
        """What keeps a run from working."""
        return self.find("error", error.message, error.advice, fix=error.fix)

    def ok(self, title: str, advice: str = "") -> Finding:
        """All is well."""
        return self.find("ok", title, advice)
