"""A run sent to trackers, by a process that follows it or for a person."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import closing

from training.errors import InputError
from training.runs.folder import RunFolder
from training.sidecars.process import Say, be_alone, keep_log, start_process, work_until_done
from training.tracking.cursor import Cursor, find_known_trackers
from training.tracking.delivery import Delivery
from training.tracking.follower import Follower
from training.tracking.ledger import Ledger
from training.tracking.settings import Name, load_tracker_settings, place_of
from training.tracking.status import describe_waiting


def start_sidecar(folder: RunFolder, names: Sequence[Name]) -> None:
    """Begin the process for the trackers in use, ``names``, and those that this run was sent to before; none where there are none.
    Raises InputError for settings that cannot be read, OSError where no process can be begun."""
    settings, known = load_tracker_settings(), find_known_trackers(folder)
    wanted = settings.choose([*names, *known])
    if wanted:
        folder.tracking.mkdir(exist_ok=True)
        for name in set(wanted) - set(known):  # found by a process that is sending the run already
            Cursor(place=place_of(getattr(settings, name), folder)).save(folder, name)
        start_process("track", folder, [word for name in wanted for word in ("--to", name)])


def track(folder: RunFolder, names: Sequence[Name], follow: bool, say: Say, patience: float) -> bool:
    """Send the run to the trackers ``names`` (else those in use and those it was sent to before), as long as it is at work where
    ``follow`` says so, and then for ``patience`` seconds more where a server is away. Returns whether all is there."""
    settings = load_tracker_settings()
    wanted = tuple(names) or settings.choose(find_known_trackers(folder))
    if not wanted:
        raise InputError("No tracker is chosen; name one with --to, or give it a table in trackers.toml.")
    with be_alone(folder.tracking, follow):
        return _deliver(folder, wanted, follow, say, patience)


def _deliver(folder: RunFolder, names: Sequence[Name], follow: bool, say: Say, patience: float) -> bool:
    with closing(Ledger(folder)) as ledger:
        follower = Follower(folder, ledger)
        deliveries = [Delivery(folder, ledger, name, load_tracker_settings()) for name in names]

        def send_new(ended: str) -> bool | None:
            asked = set(find_known_trackers(folder)) - {each.tracker for each in deliveries} if follow else ()
            # A resume asked for another tracker; its own process waits for this one.
            deliveries.extend(Delivery(folder, ledger, name, load_tracker_settings()) for name in asked)
            follower.poll()
            ledger.sync()
            for step, what in ledger.differences:
                words = f"{follower.explain(step)}: {what}"
                say(words)
                for delivery in deliveries:
                    delivery.forget_from(step, words)
            ledger.differences.clear()
            for delivery in deliveries:
                delivery.send(ended)
            if all(each.given_up for each in deliveries):
                return None
            return all(each.is_done(ended) or each.given_up for each in deliveries)

        work_until_done(folder, follow, patience, send_new)
        return _tell_outcome(folder, deliveries, say)


def _tell_outcome(folder: RunFolder, deliveries: Sequence[Delivery], say: Say) -> bool:
    for delivery in deliveries:
        if not delivery.problem:
            say(f"{delivery.tracker}: all is delivered.")
            continue
        again = f"python -m training track {shlex.quote(str(folder.path))} --to {delivery.tracker}"
        say(f"{delivery.tracker}: {delivery.problem} {describe_waiting(delivery.waits)}; send them with: {again}")
        if delivery.fault:
            keep_log(folder.tracking, [delivery.fault])
    return not any(delivery.problem for delivery in deliveries)
