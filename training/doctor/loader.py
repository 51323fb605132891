"""Whether steps wait for their samples."""

from __future__ import annotations

from pydantic import JsonValue

from training.engine.session import Session
from training.errors import format_duration
from training.events import Finding
from training.findings.machine import LONG_WAIT, SLOW_LOADER, SOME_WAIT, WAITED_IN_ALL
from training.protocol.answers import RunTime


def loader_findings(session: Session, run_time: RunTime) -> list[Finding]:
    """By what was measured of warm steps."""
    share, whole = run_time.waited / max(run_time.step, 1e-9), run_time.waited * run_time.steps
    if session.data.report.batches.mode != "streamed" or share <= SOME_WAIT or whole < WAITED_IN_ALL:
        return []
    loader, reading = session.config.loader, session.data.source.reading
    fix: dict[str, JsonValue] = {}
    advice = "Smaller images, or a faster disk."
    if loader.mode == "streamed":
        fix, advice = {"loader.mode": "auto"}, "Let the program keep the samples in memory, where they fit."
    elif loader.workers == 0:
        fix, advice = {"loader.workers": None}, "Let worker processes read them."
    elif reading == "files" and loader.cache == "off":
        fix, advice = {"loader.cache": "on"}, "Keep decoded images on the disk."
    title = (
        f"Steps wait for their samples in {min(share, 1.0):.0%} of the time, about {format_duration(whole)} of the run."
    )
    evidence: dict[str, JsonValue] = {"share": share, "seconds": whole}
    return [SLOW_LOADER.find("warning" if share > LONG_WAIT else "info", title, advice, evidence=evidence, fix=fix)]
