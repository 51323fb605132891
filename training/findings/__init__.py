"""Every code that a finding can have: its rule with the threshold, the source of that, and what is proposed. No torch here."""

from training.findings.evidence import describe_evidence
from training.findings.rule import Rule
from training.findings.rules import (
    FAMILIES,
    RULES,
    is_dismissed,
    is_named,
    merge_fixes,
    require_code,
    without_idle_fix,
    without_muted,
)

__all__ = [
    "FAMILIES",
    "RULES",
    "Rule",
    "describe_evidence",
    "is_dismissed",
    "is_named",
    "merge_fixes",
    "require_code",
    "without_idle_fix",
    "without_muted",
]
