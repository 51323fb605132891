"""The process that works off the queue: one run after the other, each a process of its own."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import dataclass, field

from training.control import Command, send
from training.errors import InputError
from training.laboratory.child import BUSY, Ended, Interrupt, NoEngine, Say, train
from training.queue.device import explain_wait, fits
from training.queue.entries import ALL_DEVICES, Entry, State, without
from training.queue.making import check_entry, make_run
from training.queue.store import FILE, Change, Queue
from training.queue.workers import be_worker, is_held, leave
from training.runs.folder import RunFolder, delete_run, owner_of

_LOOK_SECONDS = 1.0  # where it waits
_MOMENT = 0.05
_SYSTEM_SECONDS = 1.0
"""What ends the whole machine asks the run first, maybe, and its worker then."""
_REFUSED, _ENDED_BY_HAND = 2, 130  # exit codes of the engine: input that cannot be used; an end that was asked for


def work_off(queue: Queue, device: str, say: Say, interrupt: Interrupt) -> bool:
    """Train what waits for ``device``, until nothing does any more; returns whether that was reached. While the queue is paused nothing
    is begun. Where ``interrupt`` asks for an end, the run is stopped and kept, and the next worker goes on with it.

    Raises InputError where another process does it already."""
    with be_worker(queue, device):
        return _Worker(queue, device, say, interrupt).work()


@dataclass
class _Worker:
    queue: Queue
    device: str
    say: Say
    interrupt: Interrupt
    _over: bool = field(default=False, init=False)
    _said: str = field(default="", init=False)  # what it waits for

    def work(self) -> bool:
        while not self._over and not self.interrupt.asked:
            entry = self._take()
            if entry is not None:
                self._work_on(entry)
        return self._over

    def _wait(self, words: str) -> None:
        if words != self._said:
            self.say(words)
            self._said = words
        self._rest(_LOOK_SECONDS)

    def _rest(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.interrupt.asked:
            time.sleep(_MOMENT)

    def _take(self) -> Entry | None:
        """The next entry, now at work; None where it has to wait, and then so does what a worker that is gone had. Where nothing is left all
        is over, and this is no worker any more."""
        with self.queue.change() as change:
            content = change.content
            gone = (each for each in content.at_work if not is_held(self.queue, each) or each.worker == self.device)
            left = [each for each in gone if fits(self.queue, each, self.device)]
            fitting = (each for each in content.waiting if fits(self.queue, each, self.device))
            entry = left[0] if left else next(fitting, None)
            if entry is None:
                self._over = True
                leave(self.queue, self.device)
                return None
            why = explain_wait(self.queue, content, self.device)
            if not why:
                changes = {"state": "at work", "worker": self.device, "reason": "", "began": time.time(), "ended": None}
                change.note(entry.id, **changes)
                entry = entry.model_copy(update=changes)
            else:  # what nobody trains is not at work
                for each in reversed(left):
                    _put_first(change, each, "")
        if why:
            self._wait(why)
            return None
        self._said = ""
        return entry

    def _work_on(self, entry: Entry) -> None:
        run = self._find_run(entry)
        if run is None:
            return
        if entry.stop:  # its worker did not live to see it
            self._note_end(entry, "stopped", "Stopped by hand.", run)
            return
        self.say(f"[{entry.id}] {entry.name}: {run.id}")
        watch = _StopWatch(self.queue, entry, run)
        options = ("--made", "--timed", "--ranks", str(entry.ranks)) if entry.ranks > 1 else ("--made",)
        try:
            ended = train(run, self.say, self.interrupt, look=watch.look, options=options, python=entry.python)
        except NoEngine as error:  # the next worker could not start it either
            if run.events_file.exists():
                self._note_end(entry, "passed over", f"{error}; retry it with another engine.", run)
            else:
                delete_run(run)
                self._note_end(entry, "passed over", f"{error}; retry it with another engine.", None)
            return
        if ended.code == BUSY or owner_of(run.path) is not None:
            # Another process took it, maybe what is left of a worker that was killed: the entry, still at work, is looked at again.
            self._rest(_LOOK_SECONDS)
            return
        state, reason = self._judge(run, ended)
        self._note_end(entry, state, reason, run)

    def _find_run(self, entry: Entry) -> RunFolder | None:
        """The entry's run, made where it has none yet; None where it has no more to do here."""
        run, place = self.queue.run_of(entry), self.queue.place_of_run(entry)
        if run is not None and run.status().status != "completed":
            return run
        if run is not None:  # while no worker looked
            self._note_end(entry, "done", "", run)
            return None
        if place is not None and not place.path.exists():
            self._note_end(entry, "passed over", f"Its run {entry.run} was deleted.", None)
            return None
        try:
            config = check_entry(self.queue, entry, self.device)
        except InputError as error:
            self._note_end(entry, "passed over", str(error), None)
            return None
        device = entry.device if self.device == ALL_DEVICES else self.device
        try:
            return make_run(self.queue, entry, config, lambda key: self.queue.note(entry.id, run=key, device=device))
        except InputError:  # of the disk, not of the entry
            self._wait_again(entry, "")
            raise

    def _judge(self, run: RunFolder, ended: Ended) -> tuple[State, str]:
        """What became of the entry by its run and its process, and why."""
        record = run.status()
        if record.status == "completed":
            return "done", ""
        words = ended.words.splitlines()[-1].strip() if ended.words else ""
        if ended.code == _REFUSED:
            return "passed over", words or "It was refused without a word."
        if record.status == "stopped":  # what ends the whole machine may have asked the run first
            self._rest(_SYSTEM_SECONDS)
        if self.interrupt.asked and record.status != "failed":
            return "waiting", f"Stopped with the queue at step {record.step:,}; it goes on from there."
        if record.status == "stopped":
            return "stopped", record.reason or f"Stopped by hand at step {record.step:,}."
        if ended.code == _ENDED_BY_HAND:
            return "stopped", "Stopped by hand before it began."
        if record.status == "failed":
            return "failed", record.reason or words
        return "failed", f"Its process ended unexpectedly (exit code {ended.code}) after step {record.step:,}."

    def _note_end(self, entry: Entry, state: State, reason: str, run: RunFolder | None) -> None:
        has_run = run is not None and bool(run.status().status)
        self.say(f"[{entry.id}] {entry.name}: {state}{f'; {reason}' if reason else ''}")
        if state == "waiting":
            self._wait_again(entry, reason)
        else:
            changes = {"state": state, "reason": reason, "ended": time.time()}
            self.queue.note(entry.id, **changes, **({} if has_run else {"run": ""}))

    def _wait_again(self, entry: Entry, reason: str) -> None:
        """Before all others, where it was not removed."""
        with self.queue.change() as change:
            found = next((each for each in change.content.entries if each.id == entry.id), None)
            if found is not None:
                _put_first(change, found, reason)


def _put_first(change: Change, entry: Entry, reason: str) -> None:
    """Have an entry wait before all others."""
    change.update(entries=without(change.content.entries, entry.id))
    change.put(entry.model_copy(update={"state": "waiting", "reason": reason}), top=True)


class _StopWatch:
    """Whether somebody asked for the end of an entry's run. It is told so again and again until it ends: one that is still loading does not
    hear it."""

    def __init__(self, queue: Queue, entry: Entry, run: RunFolder) -> None:
        self._queue, self._entry, self._run = queue, entry, run
        self._seen = (0, 0)
        self._asked = False
        self._told = -math.inf

    def look(self) -> None:
        """Costs one ``stat`` where nothing was changed."""
        self._asked = self._asked or self._is_asked()
        if self._asked and time.monotonic() - self._told >= _LOOK_SECONDS:
            self._told = time.monotonic()
            with suppress(InputError):  # its folder was taken away: its process ends by that
                send(self._run.path, Command.STOP)

    def _is_asked(self) -> bool:
        with suppress(OSError, InputError):  # a queue that cannot be read is told by who changes it next
            status = (self._queue.folder / FILE).stat()
            if (seen := (status.st_ino, status.st_mtime_ns)) != self._seen:
                self._seen = seen
                return self._queue.read().find(self._entry.id).stop
        return False
