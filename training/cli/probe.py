"""Before a long run of several processes: are they worth while? Timed by ``training.laboratory.scaling``, told as a finding of the run."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any

import psutil

from training.config import RunConfig
from training.control import Control
from training.errors import NotYetError, RunBusyError, TrainingError, format_duration
from training.events import Finding
from training.findings import without_muted
from training.laboratory.child import BUSY, Interrupt, count_signals
from training.laboratory.scaling import Scaling, estimate_cost, measure_scaling
from training.launch.torchrun import run_in_ranks
from training.runs.folder import RunFolder, claim, release
from training.streams import say
from training.system.held_input import call_at_its_end

_PROBE = "TRAINWRIGHT_PROBE"
"""The variable that tells the processes of a run to ask for the timing where the run is long enough, or what was timed before."""
_ASK = "ask"
_MOST_SHARE = 0.02
"""Of a run's time, that a timing may take."""

Judge = Callable[[Any], Sequence[Finding]]


def run_timed(words: Sequence[str], count: int, config: RunConfig, made: RunFolder | None = None) -> int:
    """``python -m training WORDS``, which trains ``config`` as a new run, in ``count`` processes, timed first where the run is long;
    returns the exit code. A run that was ``made`` for that is held, and can be stopped, by who made it; meanwhile it is this process's."""
    code = run_in_ranks(words, count, {_PROBE: _ASK})
    if code != NotYetError.exit_code:
        return code
    interrupt, told, control = Interrupt(), "", Control()

    def look() -> None:
        control.poll()
        if control.stop and not interrupt.asked:
            interrupt.ask()

    with count_signals(interrupt), ExitStack() as at_end:
        if made is not None:
            try:
                claim(made.path)
            except RunBusyError as error:
                say(str(error))
                return BUSY
            at_end.callback(release, made.path)
            control.watch(made.path)
            call_at_its_end(interrupt.ask)
        try:
            told = json.dumps(asdict(measure_scaling(config, count, interrupt, say, look=look)))
        except TrainingError as error:
            if not interrupt.asked:
                say(str(error))
    if interrupt.asked:
        say("Stopped before the run began.")
        return 130
    return run_in_ranks(words, count, {_PROBE: told})


def judge_timed(judge: Judge, count: int, way_out: str = "") -> Judge:
    """``judge`` of a new run that ``count`` processes share, and what their timing came to. Raises NotYetError where they are to be
    timed first, with the ``way_out`` of that."""
    told = os.environ.get(_PROBE, "")

    def ask(session: Any) -> Sequence[Finding]:
        from training.doctor.run_time import estimate_run_time

        seconds = estimate_run_time(session, count) or 0.0
        startup = time.time() - psutil.Process().create_time()
        if estimate_cost(startup) <= _MOST_SHARE * seconds:
            raise NotYetError(
                f"The run takes {format_duration(seconds)} or more, so one process is timed against {count} first{way_out}."
            )
        return judge(session)

    def tell(session: Any) -> Sequence[Finding]:
        found = without_muted([Scaling(**json.loads(told)).find()], session.config.muted_findings)
        return [*found, *judge(session)]

    return ask if told == _ASK else tell if told else judge
