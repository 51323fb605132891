"""What there is to say of samples by looking at some of them: their targets, their parts, and what a simple model learns of them."""

from __future__ import annotations

from training.data.source import ReportProgress
from training.doctor.samples.augmentation import augmentation_findings
from training.doctor.samples.capacity import capacity_findings
from training.doctor.samples.columns import own_constant_findings
from training.doctor.samples.looked import look_at_samples
from training.doctor.samples.parts import part_findings
from training.doctor.samples.renamed import renamed_findings
from training.doctor.samples.sizes import size_findings
from training.doctor.samples.suspicions import suspicion_findings
from training.engine.session import Session
from training.events import Finding


def sample_findings(session: Session, report_progress: ReportProgress) -> list[Finding]:
    """Of some training and validation samples, read for it."""
    report_progress("comparing samples of both parts", None)
    sizes = size_findings(session)
    looked = look_at_samples(session.data)
    if looked is None:
        return sizes
    return [
        *sizes,
        *part_findings(looked),
        *own_constant_findings(looked),
        *suspicion_findings(looked),
        *renamed_findings(looked),
        *capacity_findings(looked, session),
        *augmentation_findings(looked, session.config),
    ]
