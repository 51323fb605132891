"""A sweep's trials as they are stored: made, proposed, judged and ended. Who changes them holds the sweep's lock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from json import JSONDecodeError
from typing import TYPE_CHECKING, Final, Literal

from pydantic import JsonValue

from training.config import RunConfig
from training.errors import InputError, TrainingError
from training.sweeps import optuna_study
from training.sweeps.dimension import Value
from training.sweeps.folder import Sweep
from training.sweeps.space import Params

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

State = Literal["waiting", "running", "complete", "pruned", "failed"]
BY_HAND: Final = "by_hand"
SECONDS: Final = "seconds"
REASON: Final = "reason"
_STATES: Mapping[str, State] = {
    "WAITING": "waiting",
    "RUNNING": "running",
    "COMPLETE": "complete",
    "PRUNED": "pruned",
    "FAIL": "failed",
}


def state_of(trial: FrozenTrial) -> State:
    """In this program's words."""
    return _STATES[trial.state.name]


class Trials:
    """The trials of one sweep. Raises InputError where its storage cannot be used."""

    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep
        optuna_study.require_optuna(sweep.sampler, sweep.pruner)
        with self._ask():
            self._storage = optuna_study.open_storage(sweep)
            self.study = optuna_study.open_study(sweep, self._storage)
            self._study_id = self._storage.get_study_id_from_name(self.study.study_name)

    @contextmanager
    def _ask(self) -> Iterator[None]:
        """The storage. Raises InputError for a journal that somebody changed, TrainingError for a database that fails."""
        try:
            with optuna_study.quiet_optuna():
                yield
        except JSONDecodeError as error:
            raise InputError(
                f"{self.sweep.journal}: is damaged; bring it back from a copy, or delete the sweep: its runs stay."
            ) from error

    def read(self) -> list[FrozenTrial]:
        """All, by their numbers, as they are now."""
        with self._ask():
            return self._storage.get_all_trials(self._study_id)

    def find(self, number: int) -> FrozenTrial:
        """The trial of a number. Raises InputError where there is none."""
        trials = self.read()
        if not 0 <= number < len(trials):
            known = f"they go from 0 to {len(trials) - 1}" if trials else "it has none yet"
            raise InputError(f"{self.sweep.id} has no trial {number}; {known}.")
        return trials[number]

    def create(self) -> FrozenTrial:
        """A trial that runs, of which nothing is proposed yet."""
        with self._ask():
            return self._storage.get_trial(self._storage.create_new_trial(self._study_id))

    def enqueue(self, params: Params) -> int:
        """A trial by hand, which waits; returns its number. What ``params`` leaves out is proposed when it begins."""
        with self._ask():
            self.study.enqueue_trial(dict(params), user_attrs={BY_HAND: True})
        return len(self.read()) - 1

    def start(self, trial: FrozenTrial) -> bool:
        """Let a waiting trial run; False where it does already."""
        from optuna.trial import TrialState

        with self._ask():
            return self._storage.set_trial_state_values(trial._trial_id, TrialState.RUNNING)

    def propose(self, trial: FrozenTrial, base: RunConfig) -> dict[str, Value]:
        """The values of a trial that runs, stored with it."""
        with self._ask():
            return optuna_study.propose(self.sweep, self._storage, trial.number, trial._trial_id, base)

    def judge(self, trial: FrozenTrial, step: int, value: float) -> bool:
        """Report a validation, and whether the trial is to be pruned for it."""
        with self._ask(), _explain_ended(trial):
            return optuna_study.judge(self.sweep, self._storage, trial._trial_id, step, value)

    def report(self, trial: FrozenTrial, step: int, value: float) -> None:
        """Report a validation that nothing is decided by any more."""
        with self._ask(), _explain_ended(trial):
            optuna_study.report(self._storage, self._storage.get_trial(trial._trial_id), step, value)

    def note_validations(self, count: int) -> None:
        """How many validations a whole run has."""
        with self._ask():
            optuna_study.note_resource(self.sweep, self._storage, count)

    def end(self, number: int, state: State, value: float | None, about: Mapping[str, JsonValue]) -> None:
        """Tell how a trial ended, once; a pruned one counts by the last value that was reported."""
        from optuna.trial import TrialState

        wanted = {"complete": TrialState.COMPLETE, "pruned": TrialState.PRUNED, "failed": TrialState.FAIL}[state]
        with self._ask():
            trial = self.find(number)
            if trial.state.is_finished():
                return
            for key, each in about.items():
                self._storage.set_trial_user_attr(trial._trial_id, key, each)
            self.study.tell(number, value if state == "complete" else None, wanted, skip_if_finished=True)


@contextmanager
def _explain_ended(trial: FrozenTrial) -> Iterator[None]:
    """Raise TrainingError where another process, which took this one for dead, has ended the trial."""
    from optuna.exceptions import UpdateFinishedTrialError

    try:
        yield
    except UpdateFinishedTrialError as error:
        raise TrainingError(
            f"Trial {trial.number} was ended by another process meanwhile.", "Its run is kept; go on with sweep work."
        ) from error
