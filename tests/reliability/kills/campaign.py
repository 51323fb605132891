"""One run that is killed again and again, resumed each time, and compared at its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.reliability.kills.comparison import Comparison, compare
from tests.reliability.kills.engine import Ended, attempt, still_alive
from tests.reliability.kills.inspection import Inspector
from tests.reliability.kills.moments import AFTER_ALL_STEPS, ANYWHERE, NEVER, RESUME, START_UP, draw
from tests.reliability.kills.scenarios import READ_BY_ONE, READ_BY_THREAD, READ_BY_THREE, RESIDENT, Scenario
from training.runs.folder import RunFolder
from training.runs.records.series import read_series
from training.runs.workspace import run_folders

LOADINGS = (RESIDENT, RESIDENT, READ_BY_THREAD, READ_BY_ONE, READ_BY_THREE)
INSTEAD = "instead"  # begins the words about a kill whose moment did not come in time
MOST_LINES = 30  # about what is wrong with one run
CHANCE_OF_OTHER_LOADING = 0.3
TRIES = 3  # to come upon a moment of a run that is done already
MET_AGAIN = (RESUME, *AFTER_ALL_STEPS)  # by a run that is done and resumed

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Kill:
    """One kill that happened."""

    kind: str
    moment: str
    standing: str


@dataclass
class Outcome:
    """What a campaign did and found."""

    scenario: str
    kills: list[Kill] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    compared: Comparison = field(default_factory=Comparison)

    @property
    def differences(self) -> list[str]:
        """All that is wrong but lost checkpoints."""
        return [*self.faults, *self.compared.differences]


@dataclass
class Campaign:
    """Kills ``scenario``'s run once for each of ``kinds``. With ``sabotage`` going on inside each resumed engine it must end
    with differences."""

    scenario: Scenario
    kinds: Sequence[str]
    random: Random
    data: Path
    place: Path
    tell: Tell
    sabotage: str = ""

    def run(self) -> Outcome:
        """Run to the end without and with kills; what is wrong is in the outcome."""
        outcome = self._run()
        self.tell(
            f"{self.scenario.name}: {len(outcome.kills)} kills, {len(outcome.differences)} differences, "
            f"{len(outcome.lost)} lost"
        )
        for line in (*outcome.lost, *outcome.differences)[:MOST_LINES]:
            self.tell(f"WRONG in {self.scenario.name}: {line}")
        return outcome

    def _run(self) -> Outcome:
        outcome = Outcome(self.scenario.name)
        self.place.mkdir(parents=True)
        self._config = self.place / "config.toml"
        self.scenario.save(self.data, self._config)
        whole = attempt(["run", str(self._config)], self.place / "whole")
        if whole.code != 0:
            outcome.faults.append(f"the run that nobody kills ended with {whole.code}: {whole.errors}")
            return outcome
        reference = RunFolder(Path(whole.record.folder))
        inspector = Inspector(read_series(reference.series_file).tobytes(), lost=outcome.lost, faults=outcome.faults)
        ended = self._kill_and_resume(inspector, outcome, whole.record.step)
        if ended.code != 0:
            outcome.faults.append(f"an attempt ended with {ended.code}: {ended.errors}")
            return outcome
        outcome.compared = compare(RunFolder(Path(ended.record.folder)), reference, ended.record, whole.record)
        return outcome

    def _kill_and_resume(self, inspector: Inspector, outcome: Outcome, steps: int) -> Ended:
        """Attempts until the run is done; returns the last."""
        self._workspace = self.place / "killed"
        mark = ""
        due = sorted(self.kinds, key=lambda kind: (kind != START_UP, kind in AFTER_ALL_STEPS, self.random.random()))
        tries = 0
        while True:
            kind = due.pop(0) if due else ""
            done = len(outcome.kills)
            moment = draw(kind, self.random, *self._room(kind, done, steps)) if kind else None
            ended = attempt(self._arguments(), self._workspace, moment, self.sabotage if done else "")
            if mark:
                outcome.faults += [f"{name} outlived the engine it worked for" for name in still_alive(mark)]
            mark = ended.mark
            if ended.killed:
                standing = self._look(inspector)
                kind = ANYWHERE if ended.moment.startswith(INSTEAD) else kind
                outcome.kills.append(Kill(kind, ended.moment, standing))
                self.tell(f"{self.scenario.name}: {kind}: {ended.moment} ({standing})")
                continue
            # The moment did not come and the run is done: only what a done run goes through again can still be met.
            due = [later for later in [kind, *due] if later in MET_AGAIN] if tries < TRIES else []
            tries += 1
            if ended.code != 0 or not due:
                return ended

    def _room(self, kind: str, done: int, steps: int) -> tuple[int, int]:
        """From how many steps on the kill may come, and by when it must, so that all find room in one run."""
        if kind in AFTER_ALL_STEPS:
            return steps, NEVER
        share = steps / (len(self.kinds) + 1)
        first = int(share * (done + 0.7 * self.random.random()))
        return first, int(min(first + 2.5 * share, 0.9 * steps))

    def _arguments(self) -> list[str]:
        folders = run_folders(self._workspace)
        if not folders:  # killed before there was a run: nothing of it is left to go on with
            return ["run", str(self._config)]
        arguments = ["resume", folders[0].id]
        if self.random.random() < CHANCE_OF_OTHER_LOADING:
            for override in self.random.choice(LOADINGS):
                arguments += ["--set", override]
        return arguments

    def _look(self, inspector: Inspector) -> str:
        folders = run_folders(self._workspace)
        if not folders:
            return "no run yet"
        if len(folders) > 1:
            inspector.faults.append(f"one run has become {len(folders)}")
        return inspector.look(folders[0])
