"""Small runs, and what is found by looking at their samples."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.training.doctor.tables import honest
from tests.training.tiny import tiny
from training.config import RunConfig, apply_overrides, parse_config
from training.config.files import config_data, overrides_of
from training.doctor.inputs import conflict_findings
from training.doctor.quick import quick_findings
from training.doctor.samples import sample_findings
from training.engine.assemble import assemble
from training.events import Finding
from training.findings.labels import SUSPECT

Change = Callable[[np.ndarray, np.ndarray], object]
ROWS = 600
SCORE = honest()["a"] + honest()["b"]


def look(config: RunConfig) -> dict[str, Finding]:
    """What is found above a note by all looks that take no step, and the note on suspicious labels."""
    session = assemble(config, lambda text, share: None)
    try:
        found = [
            *quick_findings(session),
            *conflict_findings(session.data),
            *sample_findings(session, lambda text, share: None),
        ]
    finally:
        session.data.close()
    return {item.key: item for item in found if item.level in ("warning", "error") or item.code == SUSPECT.code}


def mend(config: RunConfig, found: Finding) -> RunConfig:
    data: dict[str, Any] = dict(config_data(config))
    apply_overrides(data, overrides_of(found.fix))
    return parse_config(data)


def vectors(
    folder: Path, change: Change = lambda x, y: None, held: Change = lambda x, y: None, *more: str
) -> RunConfig:
    """Rows of six numbers in four classes, with a validation part of its own; changed in place."""
    numbers = np.random.default_rng(0)
    y = numbers.integers(0, 4, ROWS + 200)
    x = (numbers.normal(size=(len(y), 6)) + 3.0 * np.eye(6)[y]).astype(np.float32)
    change(x[:ROWS], y[:ROWS])
    held(x[ROWS:], y[ROWS:])
    np.savez(folder / "x.npz", x_train=x[:ROWS], y_train=y[:ROWS], x_val=x[ROWS:], y_val=y[ROWS:])
    return tiny("dataset.kind=npz", f"dataset.path={folder / 'x.npz'}", "loop.epochs=20", *more)
