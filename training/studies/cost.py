"""What a run of a configuration takes on this machine: some of its own steps, timed."""

from __future__ import annotations

import time
from typing import Any

import psutil

from training.config import parse_config
from training.doctor.run_time import measure_run_time
from training.engine.assemble import assemble
from training.engine.recovery.memory import count_saved_bytes
from training.studies.records import Cost

_LONGEST_START = 30.0


def measure_cost(settings: dict[str, Any]) -> dict[str, Any]:
    """The ``Cost`` of the configuration, as JSON has it. Raises InputError where it cannot run."""
    config = parse_config(settings, "the configuration")
    start = min(time.time() - psutil.Process().create_time(), _LONGEST_START)
    session = assemble(config, lambda *_: None)
    try:
        timed = measure_run_time(session)
        assert timed is not None  # patience has no end
        return Cost(
            step=timed.step,
            validation=timed.validation,
            start=start,
            steps=timed.steps,
            steps_per_epoch=timed.steps_per_epoch,
            validations=timed.validations,
            checkpoint=count_saved_bytes(session),
            device=session.device.type,
        ).model_dump(mode="json")
    finally:
        session.data.close()
