"""``python -m training queue``: runs that wait for their turn, and the process that works them off."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from training.cli.options import load_given, workspace_of
from training.cli.ranks import count_processes
from training.embedded_config import is_report
from training.engines.overview import find_engine
from training.errors import InputError, format_moment
from training.laboratory.child import Interrupt, count_signals
from training.queue.entries import ALL_DEVICES, AUTO, name_device
from training.queue.overview import Overview, Shown, look_at
from training.queue.start import log_of, start_worker, stop_workers
from training.queue.store import Queue
from training.queue.worker import work_off
from training.queue.workers import describe, is_held
from training.streams import print_json, say, write_out
from training.system.interpreter import is_frozen
from training.system.untrusted import escape_unprintable

_NAME = 32
_ENGINE = 16


def add(arguments: argparse.Namespace) -> int:
    """Queue a configuration."""
    if is_report(Path(arguments.config)):
        raise InputError(
            f"{arguments.config}: a report begins as its run did, on the same data or with the same checkpoint, which a queue does not look "
            "after; begin it by python -m training run, or queue the config.toml of its run."
        )
    if arguments.device is not None:
        arguments.overrides = [*arguments.overrides, f"precision.device={name_device(arguments.device)}"]
    queue = _queue(arguments)
    python = find_engine(arguments.engine).python if arguments.engine else "" if is_frozen() else sys.executable
    ranks = count_processes(arguments.ranks or 1)
    entry = queue.add(load_given(arguments), arguments.top, python, ranks, say)
    overview = look_at(queue)
    shown = next((each for each in overview.shown if each.entry.id == entry.id), None)
    if shown is not None and shown.place:
        say(f"Queued {entry.name} as {entry.id}, in place {shown.place}. {overview.hint}")
    if arguments.json:
        print_json(shown.dump(queue.workspace) if shown is not None else {"id": entry.id})
    return 0


def show(arguments: argparse.Namespace) -> int:
    """Tell the queue."""
    queue = _queue(arguments)
    overview = look_at(queue)
    if arguments.json:
        print_json(overview.dump(queue.workspace))
    else:
        write_out(format_queue(overview))
    return 0


def move(arguments: argparse.Namespace) -> int:
    """Change the order, then tell it."""
    queue = _queue(arguments)
    queue.move(arguments.id, arguments.place)
    write_out(format_queue(look_at(queue)))
    return 0


def remove(arguments: argparse.Namespace) -> int:
    """Take an entry out."""
    queue = _queue(arguments)
    entry = queue.remove(arguments.id, lambda each: is_held(queue, each))
    stays = f" Its run {entry.run} stays." if queue.run_of(entry) is not None else ""
    say(f"Removed {entry.name}.{stays} Bring it back with: python -m training queue put-back {entry.id}")
    return 0


def put_back(arguments: argparse.Namespace) -> int:
    """Bring back an entry that was removed."""
    queue = _queue(arguments)
    queue.put_back(arguments.id)
    write_out(format_queue(look_at(queue)))
    return 0


def retry(arguments: argparse.Namespace) -> int:
    """Give an entry another turn."""
    queue = _queue(arguments)
    entry = queue.retry(arguments.id, find_engine(arguments.engine).python if arguments.engine else None)
    say(f"{entry.name} waits again. {look_at(queue).hint}")
    return 0


def pause(arguments: argparse.Namespace) -> int:
    """Have nothing more begun."""
    _queue(arguments).set_paused(True)
    say("The queue is paused; what is at work is finished. Go on with: python -m training queue go")
    return 0


def go(arguments: argparse.Namespace) -> int:
    """Go on after a pause."""
    queue = _queue(arguments)
    queue.set_paused(False)
    say(f"The queue is not paused. {look_at(queue).hint}")
    return 0


def work(arguments: argparse.Namespace) -> int:
    """Work the queue off in this process; returns 130 where it was stopped before its end."""
    device = _device(arguments)
    if device not in (ALL_DEVICES, "cpu"):  # said at once, or everything would be passed over for it
        from training.engine.device import choose_device

        choose_device(device)
    interrupt = Interrupt()
    with count_signals(interrupt):
        return 0 if work_off(_queue(arguments), device, say, interrupt) else 130


def start(arguments: argparse.Namespace) -> int:
    """Begin a worker that survives this process."""
    queue, device = _queue(arguments), _device(arguments)
    owner = start_worker(queue, device)
    if owner is None:
        say("Nothing waits that it could train.")
    else:
        say(f"The queue is worked off for {describe(device)} by {owner}; what it says is in {log_of(queue, device)}.")
    return 0


def stop(arguments: argparse.Namespace) -> int:
    """End workers, or one entry's run alone."""
    queue = _queue(arguments)
    if arguments.id is not None:
        if arguments.device:
            raise InputError("Say either whose run is to be stopped, or by --device which process.")
        entry = queue.stop(arguments.id, lambda each: is_held(queue, each))
        say(f"Asked {entry.name} for an end; its run is kept, and the queue goes on with the next one.")
        return 0
    owners = stop_workers(queue, _device(arguments) if arguments.device else None)
    for owner in owners:
        say(f"Asked {owner} for an end; its run is stopped and kept.")
    if not owners:
        say("No process trains the runs of the queue.")
    return 0


def format_queue(overview: Overview) -> str:
    """A line for each entry, below them who works it off."""
    lines = [_format(each) for each in overview.shown] or ["The queue is empty."]
    lines += [f"Worked off for {describe(device)} by {owner}." for device, owner in overview.workers.items()]
    lines += [overview.hint] * bool(overview.hint)
    lines += ["The queue is paused."] * (overview.paused and not overview.hint)
    return "".join(f"{escape_unprintable(line, 1000)}\n" for line in lines)


def _format(shown: Shown) -> str:
    entry = shown.entry
    name = entry.name if len(entry.name) <= _NAME else f"{entry.name[: _NAME - 3]}..."
    last = entry.run or f"added {format_moment(entry.added)}"
    reason = f"  {shown.reason}" if shown.reason else ""
    return f"{entry.id:>4}  {shown.state:<11}  {name:<{_NAME}}  {entry.place:<8}  {entry.engine:<{_ENGINE}}  {last}{reason}"


def _queue(arguments: argparse.Namespace) -> Queue:
    return Queue(workspace_of(arguments))


def _device(arguments: argparse.Namespace) -> str:
    device = name_device(arguments.device or AUTO)
    return ALL_DEVICES if device == AUTO else device
