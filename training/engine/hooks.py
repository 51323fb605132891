"""Who is told what while a run works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from training.config.sheet import Sheet
from training.control import Control
from training.data.kept import KeptData
from training.events import Event
from training.runs.folder import RunFolder


@dataclass
class Hooks:
    """``planned`` hears what is taken over, before anything is made, ``started`` of the run folder, ``watch`` of every
    event, ``flushed`` of each telemetry row. ``profile``: measure where the time of all the steps goes. ``kept``: where a
    process that trains more than once keeps its data between two runs."""

    planned: Callable[[Sheet], None] = lambda sheet: None
    started: Callable[[RunFolder], None] = lambda folder: None
    watch: Callable[[Event], None] = lambda event: None
    flushed: Callable[[Any], None] = lambda row: None
    control: Control = field(default_factory=Control)
    profile: bool = False
    kept: KeptData | None = None
