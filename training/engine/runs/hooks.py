"""Who is told what while a run works."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from training.control import Control
from training.data.prepared import PreparedData
from training.embedded_config import EmbeddedConfig
from training.engine.ranks.group import ALONE, Ranks
from training.engine.session import Session
from training.events import Event, Finding
from training.runs.folder import RunFolder
from training.runs.resume_plan import ResumePlan
from training.tracking.settings import Name


@dataclass
class Hooks:
    """``planned`` hears what is taken over, before anything is made, ``started`` of the run folder, ``watch`` of every
    event, ``flushed`` of each telemetry row and the newest step's (1,) row. ``kept``: where a process that trains more than once keeps its data between two
    runs. ``trackers``: where the run is sent besides those that the person uses always. ``copy_to``: an
    address that it is copied to, "" for where it was copied to before or where the person has all runs copied. ``report``: whose data
    a new run must have, None for whatever it has. ``judge`` says what is doubtful about a new run, before its first step, ``compare`` of one that is complete. ``ready`` hears of
    the session when all is as the first step finds it. Without ``followed`` the run is sent to no tracker and copied nowhere, and the index of runs hears of it from who lists them. Of runs that are only timed: without ``saves`` no
    checkpoint is written, and without ``fused`` the optimizer takes its foreach form. ``ranks`` are the processes that share the run;
    ``main`` is the run's own folder, for one that is not the first of them and writes beside it."""

    planned: Callable[[ResumePlan], None] = lambda sheet: None
    started: Callable[[RunFolder], None] = lambda folder: None
    watch: Callable[[Event], None] = lambda event: None
    flushed: Callable[[Any, Any], None] = lambda row, newest: None
    control: Control = field(default_factory=Control)
    kept: PreparedData | None = None
    trackers: tuple[Name, ...] = ()
    copy_to: str = ""
    report: EmbeddedConfig | None = None
    judge: Callable[[Session], Sequence[Finding]] = lambda session: ()
    compare: Callable[[Session, RunFolder], Sequence[Finding]] = lambda session, folder: ()
    ready: Callable[[Session], None] = lambda session: None
    followed: bool = True
    saves: bool = True
    fused: bool = True
    ranks: Ranks = ALONE
    main: RunFolder | None = None
