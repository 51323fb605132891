"""The numbers that a finding rests on, in words."""

from __future__ import annotations

from training.events import Finding
from training.findings import describe_evidence


def test_numbers_are_said_by_what_they_count_or_measure() -> None:
    evidence = {
        "rows": 1, "samples": 12000, "half_width": 0.05, "share": 0.12, "needed_bytes": 3 * 2**30, "skill": 0.99876, "in_order": True,
        "column": "a name", "t": 2.5, "first_layer": 0.5, "first": [1, 2, 3, 4, 5], "new_name": 2, "none": None, "\x1b[2J": 1,
        "highest_loss": 301.6, "peak_step": 3, "usual_lr": 1e-3,
    }  # fmt: skip
    assert describe_evidence(Finding(level="info", title="", evidence=evidence)) == (  # type: ignore[arg-type]
        "1 row, 12,000 samples, differences below 5 points may be chance, share 12.0%, needed 3.22 GB, "
        "skill 0.9988 (0 is guessing, 1 is always right), in order: yes, in the first layer 0.5, "
        "at first 1, 2, 3, 4 and 1 more, new name 2, \\x1b[2J 1, "
        "highest loss 301.6, highest at step 3, usual learning rate 0.001"
    )
