"""What there is to say of the samples: what was opened, and whether a model can make something of it."""

from __future__ import annotations

from training.doctor.labels import class_findings, mask_findings
from training.engine.session import Session
from training.errors import pluralize
from training.events import Finding
from training.facts import DataFacts
from training.findings.data import OPENS, REMARK, SKIPPED


def opened_findings(session: Session) -> list[Finding]:
    """What the data is, and what of it was left out or is uneven."""
    report, facts = session.data.report, session.data.facts
    parts = ", ".join(f"{count:,} {name}" for name, count in report.samples.items())
    found = [OPENS.ok(f"The data opens: {parts}, {_count_names(facts)}; {report.batches.reason}.")]
    found += [REMARK.find("info", f"{note[:1].upper()}{note[1:].rstrip('.')}.") for note in report.notes]
    if report.skipped_total:
        first = report.skipped[0]
        title = f"{pluralize(report.skipped_total, 'file')} skipped, for example {first.path}: {first.reason}."
        advice = "The full list is shown when the run starts; repair or remove them if they matter."
        found.append(SKIPPED.find("warning", title, advice, evidence={"files": report.skipped_total}))
    if facts.target == "mask":
        return [*found, *mask_findings(session)]
    return [*found, *class_findings(session)] if facts.target in ("class", "labels") else found


def _count_names(facts: DataFacts) -> str:
    """``10 classes``"""
    count = len(facts.names)
    if facts.target == "ranks":
        return "queries whose items are ranked"
    if facts.target == "values":
        return f"{pluralize(count, 'value')} to predict"
    words = {"class": "classes", "mask": "classes", "labels": "labels", "tokens": "tokens", "tasks": "targets"}
    return f"{count:,} {words[facts.target]}"
