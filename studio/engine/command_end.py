"""How a command that trains has ended, in words."""

from __future__ import annotations

from studio.engine.deaths import explain_exit
from studio.engine.messages import EngineDeath
from training.laboratory.child import BUSY
from training.launch.share import CUT_OFF, RESUME

REFUSED = (2, BUSY)
"""Exit codes of one that trained nothing: what it was given cannot be used, or another process has the run."""


def explain_end(code: int, log: str, python: str) -> EngineDeath:
    """Why it ended with ``code``: as it said itself, where it could."""
    lines = log.splitlines()
    if code in REFUSED and lines:
        return EngineDeath(lines[-1], "", log)
    cut = [line for line in lines if line.startswith(CUT_OFF)]
    if cut:
        return EngineDeath(cut[-1].partition(f" {RESUME}")[0], "Resume to go on from the last checkpoint.", log)
    return explain_exit(code, log, python)
