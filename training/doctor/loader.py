"""Whether steps wait for their samples."""

from __future__ import annotations

from pydantic import JsonValue

from training.diagnosis.brakes import find_brake
from training.engine.session import Session
from training.errors import format_duration
from training.events import Finding
from training.findings.machine import SLOW_LOADER, WAITED_SECONDS, WAITS_NOTE, WAITS_WARNING
from training.protocol.answers import RunTime
from training.system.untrusted import escape_unprintable


def loader_findings(session: Session, run_time: RunTime) -> list[Finding]:
    """By what was measured of warm steps."""
    share, whole = run_time.waited / max(run_time.step, 1e-9), run_time.waited * run_time.steps
    if session.data.report.batches.mode != "streamed" or share <= WAITS_NOTE or whole < WAITED_SECONDS:
        return []
    cause, advice, fix = find_brake(session.config.loader, session.data.source.reading == "files")
    if session.data.source.runs_own_code:
        each = run_time.waited / max(1, session.config.loop.batch_size * session.config.loop.accumulation)
        path = escape_unprintable(str(getattr(session.config.dataset, "path", "")), 60)
        advice = f"{path}: a sample takes {format_duration(each) if each >= 1 else f'{each * 1e3:.2g} ms'}. Open and unpack files once, in __init__, not in __getitem__. {advice}"
    title = f"Steps wait for their samples in {min(share, 1.0):.0%} of the time{cause}, about {format_duration(whole)} of the run."
    evidence: dict[str, JsonValue] = {"share": share, "seconds": whole}
    return [SLOW_LOADER.find("warning" if share > WAITS_WARNING else "info", title, advice, evidence=evidence, fix=fix)]
