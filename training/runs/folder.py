"""The names inside a run folder.

config.toml        as it ran, never edited        status.json   the run in one record (the command line's JSON)
environment.json   versions, device, threads      events.jsonl  rare events        series.bin     one row a step
packages.json      what was installed, for each attempt
data.json          what the dataset held          commands.jsonl requests          telemetry.bin  one row a flush
splits.safetensors which sample is in which part  owner.json    the working process   log.txt
parts.bin          each part of a combined loss, one row a step
layers.bin         norms of gradient, weights and update of each layer, at every n-th step
units.bin          shares of dead and saturated units of each layer, at every n-th step
series.pyramid     smallest and largest of each 64 steps, derived from series.bin; likewise of the three others
.reserve           room for the last words on a full disk
checkpoints/step-00000100/ {model.safetensors, state.pt, manifest.json}    labels.json    exports/
places.json        where the data lies and what computes on machines the run was carried to
network.py         the code of a network that a person wrote, as it ran
dataset.py         the same of a Dataset
loss.py            and of a loss
exclude.txt        the exclude list, as it was when the run began
profile.json       where the time of its steps went, once somebody asked
about.json         what a person says of it: name, star, tags, notes, archived
evaluation.json    which class was taken for which at the best validation and the test
open.trainwright   what a double click shows the run by
boundary.bin       what a network answers over the plane of its two inputs, validation by validation
labels/            runs that left a part of the training samples out each, and the suspicious labels found by them
proofs/            what a finding's fix did in some steps from a checkpoint, beside the same steps without it
evaluations/       what a checkpoint answered to each sample of a part, or of other data (``training.predictions``)
ranks/             of a run that several processes share: who they are, and what each but the first writes
tracking/          what was sent to which tracker
copies/            how far it is copied elsewhere
launch/            what a cluster takes to train it, where it was submitted, and what its job says
set_aside/steps-201-400/    all that training changes as it was before the run went back to step 200
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue, ValidationError

from training.config import RunConfig, parse_config
from training.config.files import save_config
from training.errors import ConfigError, InputError
from training.runs.owner import claim, owner_of, refuse_any, release
from training.runs.records.forms import Parent, StatusRecord
from training.runs.records.history import read_history
from training.runs.records.recalled_status import recall
from training.system.atomic import sync_folder, write_text
from training.system.newer import UPDATE, explain_version, is_newer
from training.system.untrusted import MEGABYTE, parse_json, read_bytes
from training.toml_text import Toml, read_config_text, read_toml

__all__ = [
    "AT_WORK",
    "DAMAGED",
    "RunFolder",
    "claim",
    "create_run",
    "delete_run",
    "drop_refused",
    "first_record",
    "owner_of",
    "read_json",
    "refuse_removal",
    "release",
]

EVALUATION_NAME = re.compile(r"step-([0-9]{8,16})-(validation|test|train|[0-9a-f]{8})")
AT_WORK = ("running", "paused", "created")
"""What a status record says while a process works on the run."""
DAMAGED = "damaged"
"""The status of a run of which neither its status record nor its configuration can be read."""


_OPENER = "A double click on this file shows the run beside it in Trainwright.\n"


class _Entry:
    """A name inside a run folder, read as its path; what it holds stands above."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, folder: RunFolder, owner: type[RunFolder]) -> Path:
        return folder.path / self._name


@dataclass(frozen=True)
class RunFolder:
    """One run's folder; ``id`` is its name."""

    path: Path

    config_file = _Entry("config.toml")
    status_file = _Entry("status.json")
    events_file = _Entry("events.jsonl")
    series_file = _Entry("series.bin")
    telemetry_file = _Entry("telemetry.bin")
    parts_file = _Entry("parts.bin")
    layers_file = _Entry("layers.bin")
    units_file = _Entry("units.bin")
    checkpoints = _Entry("checkpoints")
    labels_file = _Entry("labels.json")
    splits_file = _Entry("splits.safetensors")
    data_file = _Entry("data.json")
    environment_file = _Entry("environment.json")
    packages_file = _Entry("packages.json")
    evaluation_file = _Entry("evaluation.json")
    boundary_file = _Entry("boundary.bin")
    about_file = _Entry("about.json")
    opener_file = _Entry("open.trainwright")
    code_file = _Entry("network.py")
    dataset_code_file = _Entry("dataset.py")
    loss_code_file = _Entry("loss.py")
    exclude_file = _Entry("exclude.txt")
    profile_file = _Entry("profile.json")
    log_file = _Entry("log.txt")
    exports = _Entry("exports")
    evaluations = _Entry("evaluations")
    labels = _Entry("labels")
    proofs = _Entry("proofs")
    tracking = _Entry("tracking")
    copies = _Entry("copies")
    launch = _Entry("launch")

    @property
    def column_files(self) -> tuple[Path, ...]:
        """What has columns of its own names (``records/columns``), there or not."""
        return (self.parts_file, self.layers_file, self.units_file)

    @property
    def code_files(self) -> tuple[Path, ...]:
        """The run's copies of a person's own code, there or not."""
        return (self.code_file, self.dataset_code_file, self.loss_code_file)

    def evaluation_folders(self) -> list[tuple[int, Path]]:
        """All that lies in the place of an evaluation, finished or not, each with its step."""
        try:
            found = ((EVALUATION_NAME.fullmatch(path.name), path) for path in self.evaluations.iterdir())
            return [(int(match[1]), path) for match, path in found if match]
        except (FileNotFoundError, NotADirectoryError):
            return []

    @property
    def id(self) -> str:
        """The run's identity: the folder's own name."""
        return self.path.name

    def config(self) -> RunConfig:
        """The run's configuration; raises InputError when the file is missing or damaged."""
        settings = self.settings()
        try:
            return parse_config(settings, str(self.config_file), paths=False)
        except ConfigError as error:
            version = read_json(self.environment_file).get("trainwright")
            if isinstance(version, str) and is_newer(version):
                raise InputError(f"{explain_version(self.config_file, version)} {error.message}", UPDATE) from error
            raise

    def readable_config(self) -> RunConfig | None:
        """The run's configuration; None when the file is missing or damaged, for what can be told without it."""
        try:
            return self.config()
        except InputError:
            return None

    def settings(self) -> dict[str, Toml]:
        """What the run's configuration file says, whatever it means; raises InputError as ``config`` does."""
        return read_toml(read_config_text(self.config_file), str(self.config_file))

    def status(self) -> StatusRecord:
        """The status record; "interrupted" for a run that says running while no process works on it.

        A record that is lost or damaged is told again by the configuration, the history and the labels of checkpoints.
        """
        record = self.read_status()
        if record.status in AT_WORK and owner_of(self.path) is None:
            # A process writes how the run ended before it lets go of it: it may have done both since the record was read.
            record = self.read_status()
            if record.status in AT_WORK:
                record = record.model_copy(update={"status": "interrupted"})
        best, last = record.best, self._find(record.last_checkpoint)  # folders may have been moved since
        if best is not None:
            best = best.model_copy(update={"checkpoint": self._find(best.checkpoint)})
        here = {"run": self.id, "folder": str(self.path), "last_checkpoint": last, "best": best}
        return record.model_copy(update=here)

    def read_status(self) -> StatusRecord:
        """The status record as it was written."""
        with suppress(ValidationError):  # lost, edited, or of another program
            return StatusRecord.model_validate(read_json(self.status_file))
        try:
            config = self.config()
            first = first_record(self, config, self.config_file.stat().st_mtime)
        except (InputError, OSError) as error:
            return self._describe_damage(error)
        try:
            history = read_history(self.events_file)
        except (InputError, OSError) as error:
            why = error.message if isinstance(error, InputError) else f"{self.events_file}: {error.strerror or error}."
            return first.model_copy(update={"reason": f"status.json cannot be read, and {why}"})
        return first.model_copy(update=recall(history, read_json(self.labels_file), config.monitor))

    def _describe_damage(self, error: InputError | OSError) -> StatusRecord:
        """What is told of a run that nothing can be read of; its ``status`` is "" where there is none."""
        found = [path for path in (self.config_file, self.status_file) if path.exists()]
        if not found:
            return StatusRecord(run=self.id, status="")
        with suppress(OSError):
            made = min(path.stat().st_mtime for path in found)
            status = "is damaged" if self.status_file in found else "is missing"
            why = error.message if isinstance(error, InputError) else f"config.toml: {error.strerror or error}"
            why = why.replace(str(self.config_file), "config.toml").rstrip(".")
            return StatusRecord(
                run=self.id,
                name=self.id,
                folder=str(self.path),
                status=DAMAGED,
                created=made,
                updated=made,
                reason=f"status.json {status}, and {why}.",
                advice="Bring one of the two files back from a copy of the run, or move the run to the trash.",
            )
        return StatusRecord(run=self.id, status="")

    def _find(self, checkpoint: str | None) -> str | None:
        """The place of a checkpoint whose path was written where the run lay then, on whatever system."""
        name = re.split(r"[\\/]", checkpoint)[-1] if checkpoint else ""
        return str(self.checkpoints / name) if name else None

    def write_status(self, record: StatusRecord) -> None:
        """Replace the status record; not waiting for the disk, since every line of it can be told from other files."""
        write_text(self.status_file, json.dumps(record.dump(), indent=1) + "\n", durable=False)


def make_slug(name: str) -> str:
    """What the folder of a run of that name, and files about it, begin with: no letter that a system could refuse."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "run"


@contextmanager
def explain_unwritable(workspace: Path) -> Iterator[None]:
    """Raises InputError, with what to do, for an OSError inside."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"The workspace {workspace} cannot be written ({error.strerror or error}); free some space or make it writable, "
            "or choose another workspace: Preferences in the window, --workspace in a terminal."
        ) from error


def remove_folder(folder: Path, workspace: Path) -> None:
    """Delete a study's or a sweep's folder for good, which nobody may work in. Raises InputError where it cannot be deleted; what could not
    be is hidden then, and taken for none any more."""
    gone = folder.with_name(f".{folder.name}.gone")
    with explain_unwritable(workspace):
        folder.rename(gone)
        shutil.rmtree(gone)


def create_run(
    workspace: Path,
    config: RunConfig,
    parent: Parent | None = None,
    prepare: Callable[[RunFolder], object] = lambda folder: None,
) -> RunFolder:
    """Make a new run folder in ``workspace`` holding ``config`` and a first status record. ``prepare`` is called with the folder while
    it is still empty and counts as no run."""
    runs = workspace / "runs"
    with explain_unwritable(workspace):
        runs.mkdir(parents=True, exist_ok=True)
        folder = _new_folder(runs, make_slug(config.name))
        try:
            prepare(folder)
            write_first(folder, config, parent)
            folder.opener_file.write_text(_OPENER, encoding="utf-8")
            sync_folder(runs)  # or a power cut takes the run's name away, and with it all its checkpoints
        except BaseException:
            shutil.rmtree(folder.path, ignore_errors=True)
            raise
    return folder


def _new_folder(runs: Path, slug: str) -> RunFolder:
    """An empty folder of a name that no run has, also where the clock was set back and shows a time for the second time."""
    while True:
        folder = RunFolder(runs / f"{slug}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}")
        try:
            folder.path.mkdir()
        except FileExistsError:
            continue
        return folder


def write_first(folder: RunFolder, config: RunConfig, parent: Parent | None = None) -> None:
    """Make a run of ``config`` in a folder that is there and holds none yet. Raises OSError."""
    folder.checkpoints.mkdir()
    save_config(config, folder.config_file)
    # The configurations' times are the order of the runs. It is the order they were made in, whatever the clock said.
    newest = max((_read_creation(path) for path in folder.path.parent.iterdir() if path != folder.path), default=0)
    if _read_creation(folder.path) <= newest:
        os.utime(folder.config_file, ns=(newest + 1_000_000, newest + 1_000_000))
    folder.write_status(first_record(folder, config, time.time()).model_copy(update={"parent": parent}))


def _read_creation(folder: Path) -> int:
    try:
        return os.stat(folder / "config.toml").st_mtime_ns
    except OSError:
        return 0


def first_record(folder: RunFolder, config: RunConfig, created: float) -> StatusRecord:
    """The status record of a run that has done nothing yet."""
    return StatusRecord(
        run=folder.id,
        name=config.name,
        folder=str(folder.path),
        status="created",
        created=created,
        step=0,
        epoch=0,
        best=None,
        last_checkpoint=None,
        metrics={},
        skipped_steps=0,
        samples_per_second=0.0,
        reason=None,
        fix={},
        dataset=config.dataset.kind,
        model=getattr(config.model, "name", config.model.kind),
        parent=None,
    )


def refuse_removal(folder: RunFolder) -> None:
    """Raise RunBusyError while a process works on the run, InputError for a link to its folder."""
    refuse_any(folder.path)
    if folder.path.is_symlink():
        raise InputError(f"{folder.path}: is a link to another place; delete the link, or the folder it leads to.")


def delete_run(folder: RunFolder) -> None:
    """Remove a run's folder; raises what ``refuse_removal`` does."""
    refuse_removal(folder)
    shutil.rmtree(folder.path)


def drop_refused(folder: RunFolder, error: InputError) -> None:
    """Remove a run that was refused before it began; who asked hears the ``error``. One that a cluster trains stays, and says it in its
    record: nobody was there to hear it."""
    if not folder.launch.is_dir():
        delete_run(folder)
        return
    refuse_removal(folder)
    said = {"status": "failed", "reason": error.message, "advice": error.advice}
    folder.write_status(folder.read_status().model_copy(update=said))


def read_json(path: Path, most: int = 64 * MEGABYTE) -> dict[str, JsonValue]:
    """The JSON object in ``path``, or an empty one when the file is missing, damaged or of more than ``most`` bytes."""
    try:
        data = parse_json(read_bytes(path, most))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}
