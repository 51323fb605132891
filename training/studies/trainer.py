"""The runs of a study, one after the other, each in a process of its own; what was trained before is not trained again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from training.config import RunConfig
from training.errors import InputError, TrainingError
from training.laboratory.child import Ended, Interrupt, Say, train
from training.runs.folder import RunFolder, create_run, owner_of
from training.runs.records.about import read_about, update_about
from training.runs.records.forms import StatusRecord
from training.runs.workspace import run_folders
from training.studies.folder import StudyFolder
from training.studies.records import PlannedRun, Reached

_LOOK_SECONDS = 0.1
_AT_ONCE = 1.0  # seconds: a part that takes less was done before
Accept = Callable[[RunFolder], bool]
"""Whether a run that did not complete is as far as the study wants it."""


class Interrupted(Exception):
    """The person asked for an end: what was trained is kept, and the study goes on another time."""


def refuse_none(_run: RunFolder) -> bool:
    """Every run has to complete."""
    return False


def no_look(_run: RunFolder) -> None:
    """Nothing to do while a run trains."""


@dataclass
class Trainer:
    """Trains the runs of ``study``."""

    study: StudyFolder
    say: Say
    interrupt: Interrupt
    _done: int = field(default=0, init=False)
    _parts: int = field(default=0, init=False)
    _at: float = field(default=0.0, init=False)
    _since: float = field(default=0.0, init=False)
    _before: float = field(default=0.0, init=False)

    def expect(self, parts: int) -> None:
        """There are so many parts in all, those that are done among them."""
        self._parts = parts

    def begin_part(self, words: str, run: str = "", share: float = 0.0) -> None:
        """Let who looks know what is done now, and with which run, of which ``share`` is there already."""
        parts = max(self._parts, self._done + 1) if self._parts else 0
        now = time.time()
        if (self._since == self._at and now - self._at < _AT_ONCE) or not self._at:  # no part had to be done so far
            self._since, self._before = now, self._done + share
        self._at = now
        self.study.write_reached(
            Reached(done=self._done, parts=parts, words=words, run=run, at=now, since=self._since, before=self._before)
        )

    def end_part(self) -> None:
        """One more is done."""
        self._done += 1

    def train(
        self,
        planned: Iterable[PlannedRun],
        accept: Accept = refuse_none,
        look: Callable[[RunFolder], None] = no_look,
    ) -> Mapping[str, RunFolder]:
        """All of them, by their keys. ``look`` is called with the run all the while it trains. Raises Interrupted, and TrainingError where a
        run failed."""
        found = {}
        every = list(planned)
        for number, each in enumerate(every, 1):
            run = self._find_or_make(each)
            record = run.read_status()
            name = record.name
            self.begin_part(name, run.id, record.step / record.total_steps if record.total_steps else 0.0)
            self._finish(run, f"[{number}/{len(every)}] {name}", accept, look)
            self.end_part()
            found[each.key] = run
        return found

    def _find_or_make(self, planned: PlannedRun) -> RunFolder:
        run = self.study.run_of(planned.key)
        if run is not None:
            return run
        config = planned.config
        run = self._find_unnoted(config) or create_run(self.study.workspace, config)
        update_about(run, lambda about: replace(about, tags=about.add_tags([self.study.id])))
        self.study.note_run(planned.key, run)
        return run

    def _find_unnoted(self, config: RunConfig) -> RunFolder | None:
        """A run that was made for this study just before it was killed, and not noted yet."""
        since = self.study.plan().created
        for run in reversed(run_folders(self.study.workspace)):
            record = run.read_status()
            if record.created < since:
                return None
            tags = read_about(run).tags
            untouched = record.status == "created" and record.step == 0 and tags in ((), (self.study.id,))
            if untouched and run.readable_config() == config and owner_of(run.path) is None:
                return run
        return None

    def _finish(self, run: RunFolder, head: str, accept: Accept, look: Callable[[RunFolder], None]) -> None:
        while owner_of(run.path) is not None:  # the process of a study that was killed is about to end
            self._stop_if_asked()
            look(run)
            time.sleep(_LOOK_SECONDS)
        if run.status().status == "completed" or accept(run):
            self.say(f"{head}: trained before")
            return
        self._stop_if_asked()
        self.say(head)
        ended = train(run, self.say, self.interrupt, look=lambda: look(run))
        self._stop_if_asked()
        record = run.status()
        if record.status != "completed" and not accept(run):
            raise TrainingError(
                f"{head}: {_tell_reason(record, ended)}",
                f"Mend that and go on with: python -m training study --resume {self.study.id}",
            )

    def _stop_if_asked(self) -> None:
        if self.interrupt.asked:
            raise Interrupted


def _tell_reason(record: StatusRecord, ended: Ended) -> str:
    if record.status == "failed" and record.reason:
        return record.reason
    return ended.words.splitlines()[-1] if ended.words else f"its process ended with code {ended.code}"


def read_metrics(run: RunFolder) -> Mapping[str, float]:
    """Those of the last validation. Raises InputError where the run has none."""
    metrics = run.status().metrics
    if not metrics:
        raise InputError(f"{run.path}: has no validation, so the study has nothing to compare.")
    return metrics
