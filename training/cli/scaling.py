"""``python -m training scaling``: is it worth while to share a run among processes?"""

from __future__ import annotations

import argparse
import os
import signal
from pathlib import Path

from training.cli.options import load_given
from training.cli.ranks import count_processes
from training.errors import InputError
from training.laboratory.child import Interrupt, count_signals
from training.laboratory.scaling import measure_scaling
from training.launch.share import refuse_here, refuse_other_count
from training.runs.folder import explain_unwritable
from training.streams import print_json, say
from training.system.held_input import call_at_its_end


def scale(arguments: argparse.Namespace) -> int:
    """Time one process and several; returns the exit code: 1 where several are no gain."""
    refuse_here()
    config = load_given(arguments)
    count = count_processes(arguments.ranks or "all")
    if count == 1:
        raise InputError("--ranks 1: there is nothing to compare one process with.", "Give a number of 2 or more.")
    if config.loop.slots > 1:
        refuse_other_count(config.loop.slots, count)
    if arguments.while_held:
        call_at_its_end(lambda: os.kill(os.getpid(), signal.SIGTERM))
    place = Path(arguments.workspace) if arguments.workspace else None
    if place is not None:
        with explain_unwritable(place):
            place.mkdir(parents=True, exist_ok=True)
    interrupt = Interrupt()
    with count_signals(interrupt):
        found = measure_scaling(config, count, interrupt, say, place)
    if arguments.json:
        numbers = {"processes": count, "one": found.one, "all": found.all, "factor": found.factor, "share": found.share}
        print_json({**numbers, "poor": found.is_poor, "text": str(found)})
    else:
        say(f"{count} processes: {found}")
    return int(found.is_poor)
