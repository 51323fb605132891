"""What can be told in a second or two of settings and data that are open: a part of each check, and by itself before each new run."""

from __future__ import annotations

import logging

from training.config.files import config_data
from training.config.sections.objective import Distillation
from training.doctor.inputs import input_findings
from training.doctor.network import weight_findings
from training.doctor.probes import quick_probe_findings
from training.doctor.samples.columns import column_findings
from training.doctor.samples.targets import target_findings
from training.doctor.settings import Scope, setting_findings
from training.doctor.tables import table_findings
from training.doctor.validation import validation_findings
from training.engine.session import Session
from training.events import Finding
from training.findings import without_idle_fix, without_muted

logger = logging.getLogger(__name__)


def quick_findings(session: Session) -> list[Finding]:
    """All of it, without a step."""
    return [*_findings_at_hand(session), *input_findings(session.data)]


def warn_before_start(session: Session) -> list[Finding]:
    """The warnings and errors of it that cost the run nothing: no sample is read that is not in memory, and none by a person's own code,
    which could draw random numbers. A run never fails by this."""
    data = session.data
    try:
        found = _findings_at_hand(session)
        if data.report.batches.mode == "resident" and not data.source.runs_own_code:
            found += input_findings(data)
            if not isinstance(session.config.objective, Distillation):  # whose teacher would be asked
                found += quick_probe_findings(session)
    except Exception:
        logger.exception("The look before the run failed")
        return []
    found = without_muted(without_idle_fix(found, config_data(session.config)), session.config.muted_findings)
    return [item for item in found if item.is_telling]


def _findings_at_hand(session: Session) -> list[Finding]:
    config, data = session.config, session.data
    return [
        *weight_findings(session),
        *table_findings(data, config.dataset),
        *column_findings(data, config),
        *target_findings(session),
        *validation_findings(session),
        *setting_findings(config, session.total_steps, data.steps_per_epoch, _find_scope(session)),
    ]


def _find_scope(session: Session) -> Scope:
    facts, report = session.data.facts, session.data.report
    counts = report.counts["train"] if facts.target == "class" else ()
    return Scope(
        samples=report.samples["train"],
        usual=max(counts, default=0) / max(1, sum(counts)),
        dense=facts.dense or facts.layout == "list",
        known=bool(session.beginning),
    )
