"""A sweep's folder in the workspace: what was asked for, frozen, in files that a person can read.

sweeps/ID/sweep.json     settings varied, sampler, pruner, seed, budget, storage, metric
          config.toml    the configuration that every trial changes some settings of
          journal.jsonl  Optuna's journal: all trials and their values (another storage lies in its own server)
          trials/0007/   config.toml as it was frozen for the trial, owner.json while a worker has it, stop where a person asked for it
"""

from __future__ import annotations

import json
import secrets
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from filelock import FileLock
from pydantic import JsonValue

from training.config import RunConfig
from training.config.files import save_config
from training.errors import InputError
from training.runs.folder import RunFolder, explain_unwritable, make_slug, owner_of, read_json, remove_folder
from training.runs.kept_files import keep_files
from training.runs.workspace import choose_begun
from training.sweeps.dimension import load_dimension
from training.sweeps.space import Space
from training.system.atomic import sync_folder, write_text
from training.system.newer import UPDATE, explain_format, is_later_format
from training.system.untrusted import escape_unprintable

SamplerName = Literal["tpe", "gp", "random", "grid"]
PrunerName = Literal["median", "hyperband", "wilcoxon", "none"]
SAMPLERS: Final[tuple[str, ...]] = get_args(SamplerName)
PRUNERS: Final[tuple[str, ...]] = get_args(PrunerName)
USUAL_TRIALS = 20
"""Where no budget is given."""
SWEEPS, _SETTINGS = "sweeps", "sweep.json"
FORMAT: Final = 1
"""Of ``sweep.json``; one that tells none has this."""


@dataclass(frozen=True)
class Budget:
    """What a sweep may take; None for no limit. ``hours`` are those of training, of all trials together; ``bytes`` those of their runs."""

    trials: int | None = None
    hours: float | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Sweep:
    """``storage`` is a database's URL without its password, "" for the journal in the folder. ``metric`` is compared, the larger the better
    where ``maximize``. Each trial trains ``repeats`` runs, of as many seeds, and counts by their mean."""

    path: Path
    space: Space
    sampler: SamplerName
    pruner: PrunerName
    seed: int
    budget: Budget
    storage: str
    metric: str
    maximize: bool
    name: str = ""
    created: float = 0.0
    repeats: int = 1

    @property
    def id(self) -> str:
        """The folder's own name."""
        return self.path.name

    @property
    def workspace(self) -> Path:
        """Where its runs lie."""
        return self.path.parent.parent

    @property
    def journal(self) -> Path:
        """Optuna's journal."""
        return self.path / "journal.jsonl"

    @property
    def lock(self) -> FileLock:
        """Inside, no other worker takes, proposes or ends a trial; the system lets go of it where a worker is killed."""
        return FileLock(self.path / ".lock")

    def base(self) -> RunConfig:
        """The configuration that trials change. Raises InputError."""
        return RunFolder(self.path).config()

    def trial_folder(self, number: int) -> Path:
        """Of a trial: its frozen configuration, who works on it, whether it is to stop."""
        return self.path / "trials" / f"{number:04}"

    def stop_file(self, number: int) -> Path:
        """There where a person asked for the trial's end."""
        return self.trial_folder(number) / "stop"

    def run(self, number: int, part: int = 0) -> RunFolder:
        """A trial's run, of several that of a ``part`` from 0: its name tells which, so that no kill comes between the run and who knows of
        it."""
        which = f"-{part + 1}" if self.repeats > 1 else ""
        return RunFolder(self.workspace / "runs" / f"{self.id}-{number:04}{which}")

    def runs(self, number: int) -> list[RunFolder]:
        """All runs that a trial has, or may come to have."""
        return [self.run(number, part) for part in range(self.repeats)]

    def remove(self) -> None:
        """Delete the folder of a sweep that was just made; runs are none of it."""
        shutil.rmtree(self.path, ignore_errors=True)

    def dump(self) -> dict[str, JsonValue]:
        """What ``sweep.json`` holds."""
        return {
            "name": self.name,
            "created": self.created,
            "space": [dimension.dump() for dimension in self.space.dimensions],
            "sampler": self.sampler,
            "pruner": self.pruner,
            "seed": self.seed,
            "budget": asdict(self.budget),
            "storage": self.storage,
            "metric": self.metric,
            "maximize": self.maximize,
            "repeats": self.repeats,
        }


def create_sweep(
    workspace: Path,
    base: RunConfig,
    space: Space,
    sampler: SamplerName,
    pruner: PrunerName,
    seed: int,
    budget: Budget,
    storage: str,
    repeats: int = 1,
) -> Sweep:
    """A new sweep's folder. Raises InputError, leaving nothing behind, where it cannot be written."""
    sweeps, now = workspace / SWEEPS, time.time()
    name = f"{make_slug(base.name)[:16].strip('-')}-{time.strftime('%Y%m%d')}-{secrets.token_hex(3)}"
    path = sweeps / name
    best = base.monitor, base.maximize
    sweep = Sweep(path, space, sampler, pruner, seed, budget, storage, *best, base.name, now, repeats)
    with explain_unwritable(workspace):
        (path / "trials").mkdir(parents=True)
        try:
            save_config(base, path / "config.toml")
            keep_files(RunFolder(path), base)  # what is edited later is another sweep's
            write_text(
                path / _SETTINGS, json.dumps({"format": FORMAT, **sweep.dump()}, indent=1) + "\n"
            )  # last: it says that all is there
            sync_folder(sweeps)
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise
    return sweep


def read_sweep(path: Path) -> Sweep:
    """The sweep in a folder. Raises InputError for a folder of something else, and for a damaged one."""
    data = read_json(path / _SETTINGS)
    shown = escape_unprintable(str(path / _SETTINGS), 300)
    if not data:
        raise InputError(f"{shown}: cannot be read, so this is no sweep's folder; bring it back from a copy.")
    if is_later_format(data.get("format"), FORMAT):
        raise InputError(explain_format(path / _SETTINGS, data.get("format"), FORMAT), UPDATE)
    try:
        space, limits = data["space"], data["budget"]
        sampler, pruner, seed = data["sampler"], data["pruner"], data["seed"]
        if (
            not isinstance(space, list)
            or not isinstance(limits, dict)
            or sampler not in SAMPLERS
            or pruner not in PRUNERS
            or not isinstance(seed, int)
        ):
            raise ValueError("no sweep")
        return Sweep(
            path,
            Space(tuple(load_dimension(each) for each in space)),
            sampler,  # type: ignore[arg-type]  # it was just looked up
            pruner,  # type: ignore[arg-type]
            seed,
            Budget(_int(limits["trials"]), _float(limits["hours"]), _int(limits["bytes"])),
            str(data["storage"]),
            str(data["metric"]),
            data["maximize"] is True,
            str(data.get("name", "")),
            _float(data.get("created")) or 0.0,
            _int(data.get("repeats")) or 1,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{shown}: is damaged; bring it back from a copy.") from error


def list_folders(workspace: Path) -> list[Path]:
    """Of all sweeps of the workspace, whether they can be read or not, by their names."""
    return sorted(
        path.parent for path in (workspace / SWEEPS).glob(f"[!.]*/{_SETTINGS}")
    )  # a hidden one is half deleted


def list_sweeps(workspace: Path) -> list[Sweep]:
    """Those of the workspace that can be read, oldest first."""
    found = []
    for path in list_folders(workspace):
        try:
            found.append(read_sweep(path))
        except InputError:  # said where it is asked for by its name
            continue
    return sorted(found, key=lambda sweep: (sweep.created, sweep.id))


def delete_sweep(sweep: Sweep) -> None:
    """Delete its folder for good; its runs stay, and so do its trials in a database. Raises InputError where a process works on one of its
    trials, or it cannot be deleted."""
    with (
        explain_unwritable(sweep.workspace),
        sweep.lock,
    ):  # let go of before: Windows renames no folder with an open file in it
        trials = list((sweep.path / "trials").glob("*"))
    if any(owner_of(trial) is not None for trial in trials):
        raise InputError(f"{sweep.path}: another process works on this sweep; wait until it is done.")
    remove_folder(sweep.path, sweep.workspace)


def find_sweep(text: str, workspace: Path) -> Sweep:
    """The sweep meant by its folder, its id, the name of its configuration (the newest, since the ids of all begin with it), or the start of
    an id. Raises InputError."""
    for path in (Path(text), workspace / SWEEPS / text):
        if (path / _SETTINGS).is_file():
            return read_sweep(path.absolute())
    sweeps, shown = list_sweeps(workspace), escape_unprintable(text)
    named = next((sweep for sweep in reversed(sweeps) if text and sweep.name == text), None)
    begun = named or choose_begun(text, sweeps, shown, "sweeps")
    if begun is not None:
        return begun
    newest = ", ".join(sweep.id for sweep in sweeps[-3:])
    hint = f"the newest: {newest}." if newest else "there are no sweeps yet; sweep new makes one."
    raise InputError(f"{shown}: no such sweep in {workspace}; {hint}")


def parse_budget(trials: int | None, hours: float | None, gigabytes: float | None) -> Budget:
    """What was asked for. Raises InputError for a limit that lets nothing begin."""
    for option, value in (("--trials", trials), ("--hours", hours), ("--disk", gigabytes)):
        if value is not None and not 0 < value < float("inf"):
            raise InputError(f"{option} {value}: must be more than 0.")
    return Budget(trials, hours, None if gigabytes is None else int(gigabytes * 1e9))


def _int(value: JsonValue) -> int | None:
    return None if value is None else int(value)  # type: ignore[arg-type]  # TypeError is caught


def _float(value: JsonValue) -> float | None:
    return None if value is None else float(value)  # type: ignore[arg-type]
