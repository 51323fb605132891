"""A study's folder in the workspace: found, made, read and written. No torch here: the window looks, too."""

from __future__ import annotations

import json
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import ValidationError

from training.config import RunConfig
from training.config.files import config_data
from training.errors import InputError, format_bytes
from training.runs.folder import RunFolder, explain_unwritable, read_json, remove_folder
from training.runs.workspace import choose_begun
from training.studies.records import FORMAT, Cost, Draft, Kind, Options, Plan, Reached, Result
from training.system.atomic import sync_folder, write_text
from training.system.locks import look_for_holder
from training.system.newer import UPDATE, explain_format, is_later_format
from training.system.untrusted import escape_unprintable

STUDIES = "studies"
PLAN, RUNS, RESULT, PARTS, REACHED = "plan.json", "runs.json", "result.json", "parts", "progress.json"
_LOCK = ".lock"
_PATIENCE = 2.0  # seconds: another process may be looking whether anybody works on it


@dataclass(frozen=True)
class StudyFolder:
    """``path`` is WORKSPACE/studies/ID."""

    path: Path

    @property
    def id(self) -> str:
        """The folder's own name, which is a tag of its runs, too."""
        return self.path.name

    @property
    def workspace(self) -> Path:
        """Where its runs live."""
        return self.path.parent.parent

    def plan(self) -> Plan:
        """What is to be done. Raises InputError where it is missing or damaged."""
        data = read_json(self.path / PLAN)
        if is_later_format(data.get("format"), FORMAT):
            raise InputError(explain_format(self.path / PLAN, data.get("format"), FORMAT), UPDATE)
        try:
            return Plan.model_validate(data)
        except ValidationError as error:
            raise InputError(f"{self.path / PLAN}: is missing or damaged; begin the study again.") from error

    def result(self) -> Result | None:
        """What came of it; None before its end."""
        try:
            return Result.model_validate(read_json(self.path / RESULT))
        except ValidationError:
            return None

    def write_result(self, result: Result) -> None:
        """Keep it, whole or not at all."""
        write_text(self.path / RESULT, json.dumps(result.model_dump(mode="json"), indent=1) + "\n")

    def run_of(self, key: str) -> RunFolder | None:
        """The run that was made for the part ``key``; None where there is none (any more)."""
        name = read_json(self.path / RUNS).get(key)
        run = RunFolder(self.workspace / "runs" / name) if isinstance(name, str) and name else None
        return run if run is not None and run.config_file.is_file() else None

    def note_run(self, key: str, run: RunFolder) -> None:
        """``run`` is the part ``key`` from now on."""
        write_text(self.path / RUNS, json.dumps({**read_json(self.path / RUNS), key: run.id}, indent=1) + "\n")

    def read_part(self, key: str) -> dict[str, object]:
        """What was measured before under that name; empty where nothing was."""
        return dict(read_json(self.path / PARTS / f"{key}.json"))

    def write_part(self, key: str, measured: dict[str, object]) -> None:
        """Keep what was measured, so that it is not measured again."""
        (self.path / PARTS).mkdir(exist_ok=True)
        write_text(self.path / PARTS / f"{key}.json", json.dumps(measured) + "\n")

    def runs(self) -> dict[str, RunFolder]:
        """Those that were made and are still there, by their keys, in the order in which they were made."""
        found = {key: self.run_of(key) for key in read_json(self.path / RUNS)}
        return {key: run for key, run in found.items() if run is not None}

    def parts(self) -> list[str]:
        """The names under which something was measured, oldest first."""
        try:
            files = list((self.path / PARTS).glob("*.json"))
        except OSError:
            return []
        return [file.stem for file in sorted(files, key=lambda file: (file.stat().st_mtime_ns, file.name))]

    def read_reached(self) -> Reached:
        """How far it is."""
        try:
            return Reached.model_validate(read_json(self.path / REACHED))
        except ValidationError:
            return Reached()

    def write_reached(self, reached: Reached) -> None:
        """Let who looks know how far it is."""
        write_text(self.path / REACHED, json.dumps(reached.model_dump(mode="json")) + "\n")

    @property
    def has_begun(self) -> bool:
        """Whether anything of it was done."""
        return any((self.path / name).exists() for name in (RUNS, PARTS, REACHED, RESULT))

    def is_claimed(self) -> bool:
        """Whether a process works on it."""
        if not (self.path / _LOCK).exists():
            return False
        try:
            with look_for_holder(self.path / _LOCK) as is_held:
                return is_held
        except OSError:
            return False  # a folder that cannot be written: nobody can work there

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Inside, no other process works on it. Raises InputError."""
        lock = FileLock(self.path / _LOCK)
        try:
            lock.acquire(timeout=_PATIENCE)
        except Timeout as error:
            raise InputError(f"{self.path}: another process works on this study; wait until it is done.") from error
        except OSError as error:
            raise InputError(f"{self.path} cannot be written ({error.strerror or error}); make it writable.") from error
        try:
            yield
        finally:
            lock.release()


def make_plan(kind: Kind, config: RunConfig, options: Options, cost: Cost | None, draft: Draft) -> Plan:
    """With a name of its own."""
    name = f"{kind}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    return Plan(
        kind=kind,
        id=name,
        created=time.time(),
        settings=config_data(config),
        options=dict(options),
        cost=cost,
        runs=draft.runs,
        words=draft.words,
        seconds=draft.seconds,
        bytes=draft.bytes,
    )


def create_study(workspace: Path, plan: Plan) -> StudyFolder:
    """Make the folder, whole or not at all. Raises InputError where it cannot be written."""
    folder = workspace / STUDIES / plan.id
    made = folder.with_name(f".{plan.id}.new")
    with explain_unwritable(workspace):
        made.mkdir(parents=True)
        try:
            write_text(made / PLAN, json.dumps(plan.model_dump(mode="json"), indent=1) + "\n")
            made.rename(folder)
            sync_folder(folder.parent)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
    return StudyFolder(folder)


def remove_study(study: StudyFolder) -> None:
    """Delete its folder for good; its runs stay. Raises InputError where a process works on it, or it cannot be deleted."""
    with study.claim():
        pass  # Windows renames no folder with an open file in it
    remove_folder(study.path, study.workspace)


def refuse_full_disk(workspace: Path, needed: int) -> None:
    """Raise InputError where the disk of ``workspace``, which need not be there yet, has no room for ``needed`` bytes."""
    place = next(path for path in (workspace, *workspace.parents) if path.exists())
    free = shutil.disk_usage(place).free
    if free < needed:
        raise InputError(
            f"{workspace}: up to {format_bytes(needed)} are needed and {format_bytes(free)} are free; free some space, or choose another "
            "place with --workspace."
        )


def list_studies(workspace: Path) -> list[StudyFolder]:
    """Oldest first."""
    try:
        every = (workspace / STUDIES).iterdir()
        found = [path for path in every if not path.name.startswith(".") and (path / PLAN).is_file()]
    except OSError:
        return []
    return [StudyFolder(path) for path in sorted(found, key=lambda path: (path / PLAN).stat().st_mtime_ns)]


def find_study(text: str, workspace: Path) -> StudyFolder:
    """The one meant by its id, the beginning of it, or its folder. Raises InputError."""
    if (Path(text) / PLAN).is_file():
        return StudyFolder(Path(text).resolve())
    known, shown = list_studies(workspace), f"--resume {escape_unprintable(text, 60)}"
    begun = choose_begun(text, known, shown, "studies")
    if begun is not None:
        return begun
    newest = ", ".join(study.id for study in known[-3:])
    hint = f"the newest: {newest}." if newest else "there are none yet."
    raise InputError(f"{shown}: no such study in {workspace}; {hint}")
