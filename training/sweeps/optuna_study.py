"""Optuna's side of a sweep: where trials are kept, who proposes them, who judges them. Loaded when a sweep is worked on or shown.

Nothing here outlives one call: a sampler is made for one trial, by the sweep's seed and the trial's number, and a judge for one
validation. So what is proposed and decided follows from what is stored, whatever was killed in between.
"""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from filelock import FileLock

from training.config import RunConfig
from training.errors import InputError, TrainingError
from training.sweeps.dimension import Dimension, Value
from training.sweeps.folder import Sweep

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.storages import BaseStorage
    from optuna.trial import FrozenTrial, Trial, TrialState

PASSWORD = "TRAINWRIGHT_SWEEPS_PASSWORD"
"""The environment variable with the password of a sweep's database, which no file keeps."""
_PROPOSED = "proposed"
_JUDGED = "judged"
_RESOURCE = "validations"


def require_optuna(sampler: str = "", pruner: str = "") -> None:
    """Raise InputError, with the command that installs it, where a package is missing that the sweep needs."""
    if find_spec("optuna") is None:
        raise InputError("optuna is missing, which proposes the trials of a sweep: pip install 'trainwright[sweeps]'.")
    if (has := version("optuna")).partition(".")[0] in ("1", "2", "3", "4"):
        raise InputError(
            f"optuna {has} is installed, and sweeps need 5 or newer: pip install --upgrade 'trainwright[sweeps]'."
        )
    if (sampler == "gp" or pruner == "wilcoxon") and find_spec("scipy") is None:
        option = "--sampler gp" if sampler == "gp" else "--pruner wilcoxon"
        raise InputError(f"{option}: scipy is missing, which it computes with: pip install 'trainwright[sweeps]'.")


def open_storage(sweep: Sweep) -> BaseStorage:
    """Where the trials are. Raises InputError where it cannot be used."""
    require_optuna()
    if sweep.storage:
        return _connect(sweep.storage)
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

    class Lock(JournalFileOpenLock):  # type: ignore[misc, unused-ignore]
        """The system lets go of it where a process is killed, on Windows, too: Optuna's own locks are files that stay."""

        def __init__(self) -> None:
            self._lock = FileLock(sweep.path / ".journal.lock")

        def acquire(self) -> bool:
            self._lock.acquire()
            return True

        def release(self) -> None:
            self._lock.release()

    lock = Lock()
    lock.acquire()
    try:
        _cut_torn_line(sweep)
    finally:
        lock.release()
    return JournalStorage(JournalFileBackend(str(sweep.journal), lock_obj=lock))


def _cut_torn_line(sweep: Sweep) -> None:
    """What was being written when a process was killed: the next line would be joined to it, and neither be read."""
    if not sweep.journal.exists():
        return
    with sweep.journal.open("r+b") as stream:
        end = stream.seek(0, os.SEEK_END)
        if not end:
            return
        stream.seek(max(end - 1, 0))
        if stream.read(1) == b"\n":
            return
        stream.seek(0)
        whole = stream.read()
        stream.truncate(whole.rfind(b"\n") + 1)


def _connect(url: str) -> BaseStorage:
    from optuna.exceptions import StorageInternalError
    from optuna.storages import RDBStorage
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import SQLAlchemyError
    from sqlalchemy.pool import NullPool

    from training.runs.index.database import explain

    parts = make_url(url)
    if parts.password is None and os.environ.get(PASSWORD):
        parts = parts.set(password=os.environ[PASSWORD])
    if parts.drivername == "postgresql+psycopg" and find_spec("psycopg") is None:
        missing = explain(ModuleNotFoundError(name="psycopg"), url)
        raise InputError(f"The sweep's storage {url} cannot be used: {missing}.")
    try:
        # A connection for each look: looks are seconds apart, and a server that was away is there again for the next.
        return RDBStorage(parts.render_as_string(hide_password=False), engine_kwargs={"poolclass": NullPool})
    except (SQLAlchemyError, StorageInternalError, ImportError) as error:
        raise InputError(f"The sweep's storage {url} cannot be used: {explain(error, url)}.") from error


def split_password(url: str) -> str:
    """``url`` as it may be written down; its password goes to the environment of this process. Raises InputError for another database
    than PostgreSQL."""
    from sqlalchemy.engine import URL, make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parts = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise InputError(
            "--storage: is no URL of a database; write postgresql+psycopg://USER@HOST/DATABASE, or leave it out for a journal in the "
            "sweep's folder."
        ) from error
    if parts.get_backend_name() != "postgresql":
        raise InputError(
            f"--storage: {parts.get_backend_name()} is not used for sweeps, only PostgreSQL is (several workers at once); leave it out for "
            "a journal in the sweep's folder."
        )
    driver = "postgresql+psycopg" if parts.drivername == "postgresql" else parts.drivername
    query = {name: value for name, value in parts.query.items() if name != "password"}
    if secret := parts.password or parts.query.get("password"):
        os.environ[PASSWORD] = str(secret)
    return URL.create(driver, parts.username, None, parts.host, parts.port, parts.database, query).render_as_string()


@contextmanager
def quiet_optuna() -> Iterator[None]:
    """Meanwhile Optuna says nothing: what there is to say, this program says. Raises TrainingError for a database that fails meanwhile."""
    import optuna
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import SQLAlchemyError

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (SQLAlchemyError, StorageInternalError) as error:
        from training.runs.index.database import explain

        said = error.__cause__ if isinstance(error.__cause__, SQLAlchemyError) else error
        why = explain(said, "url")
        raise TrainingError(
            f"The sweep's storage failed: {why}.", "Nothing is lost; sweep work goes on once it is there again."
        ) from error
    finally:
        optuna.logging.set_verbosity(before)


def open_study(sweep: Sweep, storage: BaseStorage, number: int | None = None) -> Study:
    """The sweep's study, which is made where there is none yet, with the sampler of trial ``number``."""
    import optuna

    name = _name_study(sweep)
    try:
        storage.get_study_id_from_name(name)
    except KeyError:
        direction: Literal["maximize", "minimize"] = "maximize" if sweep.maximize else "minimize"
        optuna.create_study(storage=storage, study_name=name, direction=direction, load_if_exists=True)
    sampler, pruner = _make_sampler(sweep, number), _make_pruner(sweep, storage)
    return optuna.load_study(study_name=name, storage=storage, sampler=sampler, pruner=pruner)


def _name_study(sweep: Sweep) -> str:
    """Hyperband sorts trials into brackets by this name: in a folder of its own it is the seed's, so that the same sweep once more is the
    same. A database has other sweeps, too."""
    return sweep.id if sweep.storage else f"seed-{sweep.seed}"


# ---------------------------------------------------------------------------------------------------------- proposals


def propose(sweep: Sweep, storage: BaseStorage, number: int, trial_id: int, base: RunConfig) -> dict[str, Value]:
    """The values of a trial that runs: what was proposed before, else what the sampler proposes. They are stored in one record before each
    is stored by itself: a sampler that had to go on in the middle would draw others."""
    trial = storage.get_trial(trial_id)
    chosen: dict[str, Value] | None = trial.user_attrs.get(_PROPOSED)
    if chosen is None:
        chosen = _sample(sweep, storage, number, trial_id, base)
        storage.set_trial_user_attr(trial_id, _PROPOSED, chosen)
    for dimension in sweep.space.dimensions:
        if dimension.path in chosen and dimension.path not in trial.params:
            distribution = _make_distribution(dimension)
            value = distribution.to_internal_repr(chosen[dimension.path])
            storage.set_trial_param(trial_id, dimension.path, value, distribution)
    return {path: chosen[path] for path in (each.path for each in sweep.space.dimensions) if path in chosen}


def _sample(sweep: Sweep, storage: BaseStorage, number: int, trial_id: int, base: RunConfig) -> dict[str, Value]:
    from optuna.trial import Trial

    unwritten: Any = _Unwritten(storage)
    trial = Trial(open_study(sweep, unwritten, number), trial_id)
    chosen: dict[str, Value] = {}
    for dimension in sweep.space.dimensions:
        if sweep.space.applies(dimension, base, chosen):
            chosen[dimension.path] = _suggest(trial, dimension)
    return chosen


class _Unwritten:
    """A storage in which the parameters of a trial are not written; what a sampler notes of the trial is."""

    def __init__(self, storage: BaseStorage) -> None:
        self._storage = storage

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    def get_trial(self, trial_id: int) -> FrozenTrial:
        return copy.deepcopy(
            self._storage.get_trial(trial_id)
        )  # Optuna writes what it suggests into what it is given here

    def set_trial_param(self, trial_id: int, param_name: str, value: float, distribution: BaseDistribution) -> None:
        return None


def _suggest(trial: Trial, dimension: Dimension) -> Value:
    path, low, high = dimension.path, dimension.low, dimension.high
    if dimension.sort == "choice":
        return str(trial.suggest_categorical(path, dimension.choices))
    if dimension.sort == "int":
        step = int(dimension.step or 1)
        return int(trial.suggest_int(path, int(low), int(high), step=step, log=dimension.log))
    return float(trial.suggest_float(path, low, high, step=dimension.step, log=dimension.log))


def _make_distribution(dimension: Dimension) -> BaseDistribution:
    """As ``_suggest`` has it."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if dimension.sort == "choice":
        return CategoricalDistribution(dimension.choices)
    if dimension.sort == "int":
        step = int(dimension.step or 1)
        return IntDistribution(int(dimension.low), int(dimension.high), log=dimension.log, step=step)
    return FloatDistribution(dimension.low, dimension.high, log=dimension.log, step=dimension.step)


def _make_sampler(sweep: Sweep, number: int | None) -> BaseSampler:
    """A sampler of its own for each trial: it remembers nothing that is not stored."""
    from optuna.samplers import BaseSampler, GPSampler, GridSampler, RandomSampler, TPESampler

    seed = int(np.random.SeedSequence([sweep.seed, number or 0]).generate_state(1)[0])
    inner: BaseSampler
    if sweep.sampler == "grid":
        grid = {dimension.path: dimension.values() for dimension in sweep.space.dimensions}
        inner = GridSampler(grid, seed=sweep.seed)  # one order of the grid for all trials
    elif sweep.sampler == "gp":
        inner = GPSampler(seed=seed, warn_independent_sampling=False)
    elif sweep.sampler == "tpe":
        inner = TPESampler(seed=seed)
    else:
        inner = RandomSampler(seed=seed)

    class ForOneTrial(BaseSampler):  # type: ignore[misc, unused-ignore]
        """``inner`` while it proposes, and nobody afterwards: a grid would end a loop that there is none of."""

        def before_trial(self, study: Study, trial: FrozenTrial) -> None:
            inner.before_trial(study, trial)

        def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
            return inner.infer_relative_search_space(study, trial)

        def sample_relative(
            self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
        ) -> dict[str, Any]:
            return inner.sample_relative(study, trial, search_space)

        def sample_independent(
            self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
        ) -> Any:
            return inner.sample_independent(study, trial, param_name, param_distribution)

        def after_trial(
            self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
        ) -> None:
            return None

    return ForOneTrial()


# ------------------------------------------------------------------------------------------------------------ judging


class _Noted:
    """A storage in which what a pruner writes of a trial is noted, and not written yet."""

    def __init__(self, storage: BaseStorage) -> None:
        self._storage = storage
        self.attributes: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    def set_trial_system_attr(self, trial_id: int, key: str, value: Any) -> None:
        self.attributes[key] = value


def judge(sweep: Sweep, storage: BaseStorage, trial_id: int, step: int, value: float) -> bool:
    """Report the ``step``-th validation's ``value`` of a trial, and tell whether the trial is to be pruned. Each is judged once: the
    verdict is stored, with what Hyperband remembers of it, in one record, so that a kill leaves all of it or nothing."""
    import optuna

    trial = storage.get_trial(trial_id)
    known = trial.user_attrs.get(_JUDGED)
    if known is not None and known["step"] >= step:
        _remember(storage, trial, known["attributes"])
        return bool(known["step"] == step and known["prune"])
    report(storage, trial, step, value)
    noted = _Noted(storage)
    study = optuna.load_study(
        study_name=_name_study(sweep),
        storage=noted,  # type: ignore[arg-type, unused-ignore]  # as far as a pruner looks
        pruner=_make_pruner(sweep, storage),
    )
    prune = bool(study.pruner.prune(study, storage.get_trial(trial_id)))
    storage.set_trial_user_attr(trial_id, _JUDGED, {"step": step, "prune": prune, "attributes": noted.attributes})
    _remember(storage, trial, noted.attributes)
    return prune


def report(storage: BaseStorage, trial: FrozenTrial, step: int, value: float) -> None:
    """Store a trial's ``value`` at its ``step``-th validation, unless it is there."""
    if step not in trial.intermediate_values:
        storage.set_trial_intermediate_value(trial._trial_id, step, value)


def _remember(storage: BaseStorage, trial: FrozenTrial, attributes: Mapping[str, Any]) -> None:
    for key, value in attributes.items():
        if key not in trial.system_attrs:
            storage.set_trial_system_attr(trial._trial_id, key, value)


def _make_pruner(sweep: Sweep, storage: BaseStorage) -> Any:
    from optuna.pruners import HyperbandPruner, MedianPruner, NopPruner, WilcoxonPruner

    if sweep.pruner == "median":
        return MedianPruner(n_startup_trials=5, n_warmup_steps=2)  # a first validation says little
    if sweep.pruner == "wilcoxon":
        return WilcoxonPruner()
    if sweep.pruner == "hyperband" and (validations := _read_resource(sweep, storage)) is not None:
        return HyperbandPruner(min_resource=1, max_resource=validations)
    return NopPruner()


def note_resource(sweep: Sweep, storage: BaseStorage, validations: int) -> None:
    """How many validations a whole run has, by the first that is known: Hyperband's brackets are made for it and stay."""
    if sweep.pruner == "hyperband" and _read_resource(sweep, storage) is None:
        study_id = storage.get_study_id_from_name(_name_study(sweep))
        storage.set_study_user_attr(study_id, _RESOURCE, max(validations, 1))


def _read_resource(sweep: Sweep, storage: BaseStorage) -> int | None:
    try:
        study_id = storage.get_study_id_from_name(_name_study(sweep))
    except KeyError:  # none yet
        return None
    found = storage.get_study_user_attrs(study_id).get(_RESOURCE)
    return found if isinstance(found, int) else None


# -------------------------------------------------------------------------------------------------------- importances


def measure_importances(study: Study) -> tuple[dict[str, float], str]:
    """How much of the value each setting decides, by PED-ANOVA, the largest first; or nothing, and why."""
    import optuna

    with quiet_optuna():
        try:
            found = optuna.importance.get_param_importances(study)
        except (ValueError, RuntimeError) as error:  # too few trials that are complete, or of one value all
            return {}, f"Importances are not known yet: {error}"
    return {path: float(share) for path, share in found.items()}, ""
