"""A run: new, resumed or branched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from training.checkpoints import WholeCheckpoint, newest_good
from training.config import RunConfig, parse_config
from training.config.diff import Change, diff
from training.config.files import config_data
from training.config.paths import with_changed_paths_absolute
from training.engine.device import choose_device, replace_missing_device
from training.engine.recovery.origin import refuse_other_teacher
from training.engine.recovery.restore import Branch, FromStart, Resume, refuse_by_sheet, refuse_other_settings
from training.engine.runs.attempt import run_attempt
from training.engine.runs.hooks import Hooks
from training.errors import CheckpointError, ConfigError, InputError, NotYetError, RunBusyError
from training.events import Finding, inform, warn
from training.runs.folder import RunFolder, claim, create_run, drop_refused, release
from training.runs.records.forms import Manifest, Parent, StatusRecord
from training.runs.records.manifest import read_sealed, verify
from training.runs.records.teachers import read_teacher, teacher_as_it_is, teacher_since
from training.runs.relocation import DATA, DEVICE, KEPT, config_here, config_wanted, require_places, with_moved
from training.runs.resume_plan import ResumePlan, keeps_run, plan_branch, plan_resume
from training.runs.rewind import list_set_aside, look_beyond
from training.runs.workspace import find_target

__all__ = ["Hooks", "Intent", "branch_run", "intend_resume", "resume_run", "start_run", "train_made_run"]


def start_run(
    config: RunConfig, workspace: Path, hooks: Hooks | None = None, source: Path | None = None
) -> StatusRecord:
    """Train ``config``, read from the file ``source``, in a new run folder; returns the run's status record.

    Raises InputError, leaving nothing behind, when the configuration or its data cannot be used.
    """
    choose_device(config.precision.device)  # said before anything is made
    folder = create_run(workspace, config)
    return run_attempt(folder, config, hooks or Hooks(), restore=None, new=True, source=source)


def train_made_run(folder: RunFolder, workspace: Path, hooks: Hooks | None = None) -> StatusRecord:
    """Train a run that somebody made to be trained later, on the device that it asks for and no other: one that never began begins as
    by ``start_run``, another goes on as by ``resume_run``.

    Raises InputError when it cannot be trained; one that never began is then removed (``drop_refused``), unless another process has it
    (RunBusyError), or it is to begin later (NotYetError)."""
    hooks = hooks or Hooks()
    config = config_here(folder)
    if folder.events_file.exists():
        choose_device(config.precision.device)
        return resume_run(str(folder.path), workspace, hooks=hooks)
    try:
        choose_device(config.precision.device)
        origin, ended = _find_origin(folder), _find_ended(folder)
        parent = ended if origin is None else RunFolder(origin.parent.parent)
        _refuse_unfit(parent or folder, config)
        restore: Branch | FromStart | None = None
        if origin is not None:
            restore = _plan_branch(origin, verify(origin), config, hooks)
        elif ended is not None:
            restore = _begin_again(ended, diff(config_here(ended), config))
        return run_attempt(folder, config, hooks, restore=restore, new=False)
    except RunBusyError:
        raise
    except NotYetError:
        folder.events_file.unlink(missing_ok=True)  # it has not begun
        raise
    except InputError as error:
        drop_refused(folder, error)
        raise


@dataclass(frozen=True)
class Intent:
    """What a resume means: ``wanted`` is what the attempt is to run with, ``before`` what the run itself says here."""

    folder: RunFolder
    checkpoint: Path | None  # as asked for; None means the newest whole one
    before: RunConfig
    wanted: RunConfig
    changed: tuple[Change, ...]
    branch: bool = False  # a new run is asked for, whatever was changed

    @property
    def same_run(self) -> bool:
        """Whether the run itself goes on; otherwise a new one is made."""
        return keeps_run(self.changed) and not self.branch

    def sheet(self) -> tuple[Path | None, ResumePlan | None]:
        """From which checkpoint what would be taken over; None where there is none yet and the run starts from the beginning.

        Raises CheckpointError and InputError as the resume itself would.
        """
        if not self.same_run:
            _refuse_unfit(self.folder, self.wanted)
        found = _pick(self.folder, self.checkpoint)
        if found is None:
            return None, None
        checkpoint, manifest, refused = found
        before = with_moved(self.folder, parse_config(manifest.config, str(checkpoint), paths=False))
        if self.same_run:
            sheet = plan_resume(before, self.wanted, manifest)
            beyond = None if refused else look_beyond(self.folder, checkpoint)
            sheet = replace(sheet, notes=(*sheet.notes, beyond.note)) if beyond else sheet
        else:
            sheet = plan_branch(before, self.wanted, manifest, teacher=teacher_since(manifest, self.wanted))
        refuse_by_sheet(checkpoint, sheet)
        return checkpoint, sheet


def intend_resume(target: str, workspace: Path, overrides: Sequence[str] = (), branch: bool = False) -> Intent:
    """Find what ``target`` names and read it with ``overrides``. Raises InputError."""
    folder, checkpoint = find_target(target, workspace)
    before, wanted = config_here(folder), config_wanted(folder, overrides)
    return Intent(folder, checkpoint, before, wanted, tuple(diff(before, wanted)), branch)


def resume_run(
    target: str, workspace: Path, overrides: Sequence[str] = (), hooks: Hooks | None = None, branch: bool = False
) -> StatusRecord:
    """Go on with a run from its newest whole checkpoint, or from the one that ``target`` names, on whatever machine. What lies
    beyond that is set aside (``runs.rewind``), unless ``branch`` asks for a new run.

    ``overrides`` that change no result (loader, saving) apply to this attempt; those that say where the run works
    (``KEPT``) are remembered for later ones; others make a branch, a new run, which begins from the start when there
    is no checkpoint yet. Raises InputError when there is nothing to go on with.
    """
    hooks = hooks or Hooks()
    intent = intend_resume(target, workspace, overrides, branch)
    if not intent.same_run:
        return _branch_off(intent, workspace, hooks)
    folder = intent.folder
    places = {change.path: change.new for change in intent.changed if change.path in KEPT}
    if (path := getattr(intent.wanted.dataset, "path", None)) != getattr(folder.config().dataset, "path", None):
        places[DATA] = path  # also one that was found, not said: what it was found by may change
    if DEVICE in places:
        choose_device(intent.wanted.precision.device)  # asked for just now: not having it is a mistake
    config, moved = _on_this_machine(intent.wanted)
    _refuse_other_code(folder, config)
    _refuse_unfit(folder, config)
    claim(folder.path)
    try:
        found = _pick(folder, intent.checkpoint)
        restore: Resume | Branch | FromStart
        if found is not None:
            checkpoint, manifest, refused = found
            before = with_moved(folder, parse_config(manifest.config, str(checkpoint), paths=False))
            refuse_other_settings(folder, before, config)
            hooks.planned(plan_resume(before, config, manifest))
            moved = [replace(item, step=manifest.step) for item in moved]
            beyond = None if refused else look_beyond(folder, checkpoint)  # what is damaged is done again in its place
            restore = Resume(checkpoint, manifest, refused, moved, places, beyond)
        else:
            branched = _find_origin(folder)
            restore = FromStart(moved, places)
            if branched is not None:
                restore = Branch(branched, verify(branched), RunFolder(branched.parent.parent), moved, places)
    except BaseException:
        release(folder.path)
        raise
    return run_attempt(folder, config, hooks, restore=restore, new=False, changes=tuple(map(str, intent.changed)))


def branch_run(checkpoint: Path, config: RunConfig, workspace: Path, hooks: Hooks | None = None) -> StatusRecord:
    """A new run that begins with what ``checkpoint`` holds and goes on with ``config``; relative paths in it that are not those
    of the checkpoint are of the working folder."""
    manifest = verify(checkpoint)
    before = parse_config(manifest.config, str(checkpoint), paths=False)
    config = parse_config(
        with_changed_paths_absolute(config_data(config), config_data(before), Path.cwd()), paths=False
    )
    return _branch_from(checkpoint, manifest, config, workspace, hooks or Hooks())


def _branch_off(intent: Intent, workspace: Path, hooks: Hooks) -> StatusRecord:
    folder = intent.folder
    beside = folder.path.parent.parent if folder.path.parent.name == "runs" else workspace
    if (whole := _pick(folder, intent.checkpoint)) is not None:
        return _branch_from(whole.checkpoint, whole.manifest, intent.wanted, beside, hooks)
    choose_device(intent.wanted.precision.device)
    _refuse_unfit(folder, intent.wanted)
    new = create_run(beside, intent.wanted, parent=Parent(run=folder.id))
    return run_attempt(new, intent.wanted, hooks, restore=_begin_again(folder, intent.changed), new=True)


def _begin_again(ended: RunFolder, changed: Iterable[Change]) -> FromStart:
    """What a run begins with that goes on, ``changed``, with another one that had no checkpoint."""
    title = f"The run {ended.id} had no checkpoint yet, so this is a new run from the beginning."
    return FromStart([inform(title, f"Changed: {'; '.join(map(str, changed))}.")], ended=ended)


def _find_ended(folder: RunFolder) -> RunFolder | None:
    """The run that one goes on with that began from nothing, as that had no checkpoint; None where there is none."""
    parent = folder.status().parent
    if parent is None or parent.checkpoint:
        return None
    ended = RunFolder(folder.path.parent / parent.run)
    return ended if ended.path.is_dir() else None


def _branch_from(
    checkpoint: Path, manifest: Manifest, config: RunConfig, workspace: Path, hooks: Hooks
) -> StatusRecord:
    choose_device(config.precision.device)
    _refuse_unfit(RunFolder(checkpoint.parent.parent), config)
    restore = _plan_branch(checkpoint, manifest, config, hooks)
    folder = create_run(workspace, config, parent=Parent(run=restore.parent.id, checkpoint=str(checkpoint)))
    return run_attempt(folder, config, hooks, restore=restore, new=True)


def _plan_branch(checkpoint: Path, manifest: Manifest, config: RunConfig, hooks: Hooks) -> Branch:
    """What a run of ``config`` begins with that leaves another one at ``checkpoint``, told to ``hooks``. Raises CheckpointError where that is
    not to be had."""
    parent = RunFolder(checkpoint.parent.parent)
    sheet = plan_branch(
        with_moved(parent, parse_config(manifest.config, str(checkpoint), paths=False)), config, manifest
    )
    refuse_by_sheet(checkpoint, sheet)
    hooks.planned(sheet)
    return Branch(checkpoint, manifest, parent)


def _find_origin(folder: RunFolder) -> Path | None:
    """The checkpoint that a branch began with; None for a run that began from nothing.

    A branch that was cut off before its own first checkpoint goes on from there. Raises CheckpointError when it is gone:
    beginning from nothing would be another run.
    """
    parent = folder.status().parent
    if parent is None or not parent.checkpoint:
        return None
    there = Path(parent.checkpoint)
    found = None
    for run in (there.parent.parent, folder.path.parent / parent.run):  # both may have been moved
        places = [run, *(item.path for item in list_set_aside(RunFolder(run)))]
        found = found or next((path for place in places if (path := place / "checkpoints" / there.name).is_dir()), None)
    if found is None:
        raise CheckpointError(
            f"The run {folder.id} has no checkpoint of its own yet, and the one it was branched from, {there}, is gone; "
            "make a new branch from another checkpoint."
        )
    return found


def _on_this_machine(config: RunConfig) -> tuple[RunConfig, list[Finding]]:
    """``config`` on a device that is here; a machine that lacks the one asked for is no reason not to go on."""
    name, sentence = replace_missing_device(config.precision.device)
    if not sentence:
        return config, []
    precision = config.precision.model_copy(update={"device": name})
    advice = "To wait for such a device, stop and resume where there is one; to stay here, resume with --set "
    found = warn(sentence, f"{advice}precision.device={name}.")
    return config.model_copy(update={"precision": precision}), [found]


def _refuse_other_code(folder: RunFolder, config: RunConfig) -> None:
    """Raise InputError where the Python file of the teacher was changed: to agree to it would not make it the old one."""
    known = read_teacher(read_sealed(folder.data_file))
    now = None
    with suppress(InputError, OSError):  # what is not there, or cannot be read, is said next
        now = teacher_as_it_is(config) if known is not None and known.code is not None else None
    refuse_other_teacher(known, now)


def _refuse_unfit(folder: RunFolder, config: RunConfig) -> None:
    """Raise InputError for settings that do not go together, and for files that are not there, of which ``folder`` has no copy either."""
    try:
        require_places(folder, config)
    except ConfigError as error:
        if all(problem.path != DATA for problem in error.problems):
            raise
        raise InputError(
            f"{error}", f"If the data lies elsewhere on this machine, resume with --set {DATA}=FOLDER."
        ) from error


def _pick(folder: RunFolder, checkpoint: Path | None) -> WholeCheckpoint | None:
    """The checkpoint to go on from; None (from the beginning) when the run was cut off before its first."""
    return newest_good(folder) if checkpoint is None else WholeCheckpoint(checkpoint, verify(checkpoint), [])
