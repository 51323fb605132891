"""What a session takes over from a checkpoint: everything (resume), or what still fits (branch)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from pydantic import JsonValue
from torch import Tensor
from torch.optim.optimizer import StateDict

from training.checkpoints.load import load_state, load_tensors, load_weights
from training.checkpoints.snapshot import TrainingState
from training.checkpoints.write import AVERAGED
from training.config import RunConfig, parse_config
from training.config.diff import diff
from training.engine.device import ran_out_of_memory
from training.engine.progress import Progress
from training.engine.runs.environment import earlier_environment
from training.engine.session import Session
from training.environment import Environment
from training.errors import CheckpointError, InputError, TrainingError, list_first
from training.events import EpochEnded, Event, Finding, RateDropped, Validated, inform, warn
from training.optim.optimizers import load_optimizer
from training.runs.boundary.frames import copy_boundary
from training.runs.folder import RunFolder
from training.runs.records.columns import copy_columns
from training.runs.records.forms import Manifest
from training.runs.records.history import read_history
from training.runs.records.series import STEP_ROW, SeriesWriter, read_series
from training.runs.records.teachers import became_of
from training.runs.relocation import remember, with_moved
from training.runs.resume_plan import ResumePlan, explain_leak, keeps_run, plan_branch
from training.runs.rewind import Beyond
from training.runs.set_aside import SET_ASIDE
from training.system.untrusted import escape_unprintable

_NO_SETTINGS = ("params", "fused", "foreach", "capturable")
"""What an optimizer's groups hold besides settings: which form of kernels runs came with the state."""


_MISFITS = (KeyError, IndexError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError)


@dataclass
class Resume:
    """The same run goes on: every number, to the bit where the machine allows it."""

    checkpoint: Path
    manifest: Manifest
    refused: list[str]  # newer checkpoints that are damaged
    findings: list[Finding] = field(default_factory=list)
    places: Mapping[str, JsonValue] = field(default_factory=dict)
    """Said about this machine, kept once it has proved right."""
    beyond: Beyond | None = None  # to be set aside once nothing stands in the way any more

    def apply(self, folder: RunFolder, session: Session) -> None:
        """Load weights, averaged weights and training state."""
        if self.manifest.data.fingerprint != session.data.source.fingerprint:
            raise CheckpointError(
                f"{self.checkpoint}: was trained on other data than there is now; put the old files back, or branch."
            )
        _refuse_lost_columns(self.checkpoint, self.manifest, session)
        state = take_over(self.checkpoint, session)
        _move_generator(state, earlier_environment(folder, session.progress.step), session.device)
        remember(folder, self.places)
        step = session.progress.step
        title = f"A newer checkpoint is damaged, so the run goes on from step {step}."
        self.findings.extend(warn(title, sentence, step=step) for sentence in self.refused)


def _refuse_lost_columns(checkpoint: Path, manifest: Manifest, session: Session) -> None:
    """Raises CheckpointError where the same settings and data give fewer features than they did to an earlier version."""
    before = manifest.data.dump().get("columns")
    now = session.data.facts.columns
    lost = [str(name) for name in before if name not in now] if isinstance(before, Sequence) else []
    if lost:
        names = list_first([f"'{escape_unprintable(name, 60)}'" for name in lost[:3]], len(lost))
        raise CheckpointError(
            f"{checkpoint}: was trained with {names} among the features, which this version leaves out of the table.",
            f"Resume with --set 'dataset.keep_columns={json.dumps(lost, ensure_ascii=False)}', which makes a branch.",
        )


def refuse_other_settings(folder: RunFolder, before: RunConfig, now: RunConfig) -> None:
    """A configuration edited by hand would go on as the same run without being it; raises CheckpointError then."""
    for change in diff(before, now):
        if not keeps_run([change]):
            raise CheckpointError(
                f"{folder.config_file}: was changed since this run was saved ({change}); change it back, or resume "
                "with --set, which makes a branch."
            )


@dataclass
class Branch:
    """A new run begins with a checkpoint's weights and what else of it fits; ``plan_branch`` decides what that is."""

    checkpoint: Path
    manifest: Manifest
    parent: RunFolder
    findings: list[Finding] = field(default_factory=list)
    places: Mapping[str, JsonValue] = field(default_factory=dict)
    sheet: ResumePlan | None = None  # as carried out, known after ``apply``

    def apply(self, folder: RunFolder, session: Session) -> None:
        """Do what the sheet says, and tell it."""
        before = with_moved(self.parent, parse_config(self.manifest.config, str(self.checkpoint), paths=False))
        same_data = self.manifest.data.fingerprint == session.data.source.fingerprint
        announced = plan_branch(before, session.config, self.manifest)
        teacher = " and ".join(became_of(self.manifest.teacher, session.data.report.teacher).values())
        sheet = plan_branch(before, session.config, self.manifest, same_data, teacher)
        refuse_by_sheet(self.checkpoint, sheet)
        if same_data and before.dataset == session.config.dataset:
            _refuse_lost_columns(self.checkpoint, self.manifest, session)
        load_weights(self.checkpoint, session.model)
        state = load_state(self.checkpoint)
        if "averaged weights" in sheet.parts:
            _load_average(self.checkpoint, session, state)
        if "optimizer" in sheet.parts:
            self._load_optimizer(session, state)
        if "loss scale" in sheet.parts and state["scaler"]:
            session.numerics.scaler.load_state_dict(state["scaler"])
        if "plateau" in sheet.parts and session.schedule.plateau and state["plateau"]:
            session.schedule.plateau.load(state["plateau"])
        session.remember_state()  # a first step that is skipped must put these buffers back, not fresh ones
        if sheet.continues:
            session.progress = _continue_progress(state["progress"])
            self._settle_rate(before, session)
            if session.progress.step >= session.total_steps:  # the sheet knows whole epochs only
                raise InputError(
                    f"{self.checkpoint}: lies at step {session.progress.step}, but with the new settings the run ends after step "
                    f"{session.total_steps}; raise loop.epochs or loop.max_steps, or choose an earlier checkpoint."
                )
            self._copy_series(folder, session.progress.step)
        if "random numbers" in sheet.parts:
            session.load_random_state(state["rng"])
        session.make_ready()
        remember(folder, self.places)
        self.sheet = sheet
        self._tell(announced, sheet, session.progress.step)

    def _settle_rate(self, before: RunConfig, session: Session) -> None:
        """Roll backs of the parent lowered its rate; that stays only where the branch has no rate of its own."""
        progress, after = session.progress, session.config
        factor = progress.rate_factor
        kept = before.optimizer == after.optimizer and before.schedule == after.schedule
        progress.set_rate_factor(factor if kept else 1.0, roll_backs=0)
        if factor == 1.0:
            return
        self.findings.append(
            inform(
                f"Roll backs had lowered the parent's learning rate to {factor:.3g} of the schedule's; the branch "
                + ("goes on with that." if kept else "goes by its own settings."),
                step=progress.step,
            )
        )

    def _load_optimizer(self, session: Session, state: TrainingState) -> None:
        optimizer = session.optimizer
        if not _fits(state["optimizer"], optimizer):
            raise CheckpointError(
                f"{self.checkpoint}: its optimizer keeps other numbers than its settings say; choose another checkpoint."
            )
        new = [dict(group) for group in optimizer.param_groups]
        load_optimizer(optimizer, state["optimizer"])
        for group, settings in zip(optimizer.param_groups, new, strict=True):  # the new settings rule
            group.update({key: value for key, value in settings.items() if key not in _NO_SETTINGS})

    def _tell(self, announced: ResumePlan, sheet: ResumePlan, step: int) -> None:
        aside = self.parent.path.parent.name == SET_ASIDE
        run = self.parent.path.parent.parent.name if aside else self.parent.id
        text = f"Branched from step {self.manifest.step} of {run}. Restored: {', '.join(sheet.restored)}."
        advice = [f"Changed: {'; '.join(map(str, sheet.changed))}."] if sheet.changed else []
        advice.append(f"Not restored: {'; '.join(sheet.ignored)}.")
        advice += [f"Note: {'; '.join(sheet.notes)}."] if sheet.notes else []
        self.findings.append(inform(text, " ".join(advice), step=step))
        if leak := explain_leak(sheet.changed):
            self.findings.append(warn(f"{leak[:1].upper()}{leak[1:]}.", step=step))
        if sheet.continues != announced.continues:
            self.findings.append(
                warn(
                    "The data is not what the settings made expect, so the branch begins at step 0.",
                    "Its content differs from what the checkpoint was trained on. Stop, and branch with the old "
                    "data, to go on where the checkpoint stands.",
                    step=step,
                )
            )

    def _copy_series(self, folder: RunFolder, steps: int) -> None:
        """The parent's rows up to the branch, so that the new run's curve reads as one line."""
        rows = read_series(self.parent.series_file)[:steps]
        if len(rows) < steps:
            raise CheckpointError(
                f"{self.parent.series_file}: holds {len(rows)} of the {steps} steps before this checkpoint."
            )
        writer = SeriesWriter(folder.series_file, STEP_ROW)
        writer.truncate(0)  # an attempt that was cut off before its first checkpoint left rows of its own
        writer.append(rows)
        writer.close()
        for before, after in zip(self.parent.column_files, folder.column_files, strict=True):
            copy_columns(before, after, steps)
        copy_boundary(self.parent.boundary_file, folder.boundary_file, steps)

    def earlier_events(self, folder: RunFolder, session: Session) -> list[Event]:
        """The parent's validations, drops of the rate and epochs up to the branch, as far as ``folder`` does not tell them yet."""
        if self.sheet is None or not self.sheet.continues:
            return []
        told = read_history(folder.events_file)
        before: list[Validated | RateDropped | EpochEnded] = [*told.validations, *told.drops, *told.epochs]
        known = {(event.kind, event.step) for event in before}
        history = read_history(self.parent.events_file)
        events: list[Validated | RateDropped | EpochEnded] = [*history.validations, *history.drops, *history.epochs]
        return [
            event
            for event in sorted(events, key=lambda event: event.step)
            if event.step <= session.progress.step and (event.kind, event.step) not in known
        ]


@dataclass
class FromStart:
    """A run that was cut off or ended before its first checkpoint begins again, as itself or as a new run with other settings."""

    findings: list[Finding]
    places: Mapping[str, JsonValue] = field(default_factory=dict)
    ended: RunFolder | None = None  # the run that a new one takes the place of
    checkpoint: None = None

    def apply(self, folder: RunFolder, session: Session) -> None:
        """There is nothing to take over; what was said about this machine has proved right."""
        remember(folder, self.places)


Restore = Resume | Branch | FromStart
"""How a session comes to stand where a checkpoint stood, if any. ``findings`` are what to tell when the attempt begins, known
after ``apply``, which raises CheckpointError when the checkpoint does not fit."""


def _fits(saved: StateDict, optimizer: torch.optim.Optimizer) -> bool:
    """Whether ``saved`` has the very entries that ``optimizer`` works with (other groups or AMSGrad need others)."""

    def entries(state: StateDict) -> Any:
        groups = [group["params"] for group in state["param_groups"]]
        return groups, {key: set(numbers) for key, numbers in state["state"].items()}

    return bool(entries(saved) == entries(optimizer.state_dict()))


def _continue_progress(saved: dict[str, Any]) -> Progress:
    """The parent's progress for a branch: the best of a run is one of its own checkpoints, so it is sought again, and a
    row of skips under the old settings says nothing about the new ones."""
    return replace(
        Progress(**saved),
        finished="",
        best_value=None,
        best_step=0,
        counted_value=None,
        stale_validations=0,
        skipped_in_a_row=0,
        batch_size=0,
        evaluation_size=0,
    )


def take_over(checkpoint: Path, session: Session) -> TrainingState:
    """Put ``session`` where ``checkpoint`` stood, to the bit; raises CheckpointError when it does not fit. Returns its state."""
    load_weights(checkpoint, session.model)
    state = load_state(checkpoint)
    _load_average(checkpoint, session, state)
    session.load_training_state(state)
    return state


def _load_average(checkpoint: Path, session: Session, state: TrainingState) -> None:
    if session.ema is None:
        return
    if (checkpoint / AVERAGED).is_file():
        session.ema.load_state_dict(load_tensors(checkpoint / AVERAGED), state["ema_updates"])
    else:
        session.ema.load_state_dict(session.ema.live, 0)  # it was too early for an average, and is so again


def _move_generator(state: TrainingState, before: Environment, device: torch.device) -> None:
    """The GPU that trains has another number here: what it drew from goes with the work, not with the number."""
    old, saved = before.device_index, state["rng"]["cuda"]
    if (
        device.type == "cuda"
        and before.device_type == "cuda"
        and old is not None
        and old != device.index
        and 0 <= old < len(saved)
    ):
        torch.cuda.set_rng_state(saved[old], device)


def refuse_by_sheet(checkpoint: Path, sheet: ResumePlan) -> None:
    """Raise CheckpointError where ``sheet`` says that it cannot be done."""
    if sheet.refused:
        raise CheckpointError(f"{checkpoint}: {sheet.refused}.")


# ------------------------------------------------------------------------------- of any content


def load_checked(restore: Restore, folder: RunFolder, session: Session) -> None:
    """``restore.apply``; raises CheckpointError for numbers that are none of this run's.

    Digests show that a file is what its writer wrote, not that the writer meant well: a checkpoint may come from anybody.
    """
    wanted = {parameter: set(numbers) for parameter, numbers in session.optimizer.state.items()}
    try:
        restore.apply(folder, session)
        fault = _misfit(session) or _lack(session, wanted)
    except TrainingError:
        raise
    except _MISFITS as error:
        if ran_out_of_memory(error):
            raise
        why = escape_unprintable(f"{type(error).__name__}: {error}", 200)
        raise CheckpointError(
            f"{restore.checkpoint}: does not fit this run ({why}); choose another checkpoint."
        ) from error
    if fault:
        raise CheckpointError(f"{restore.checkpoint}: does not fit this run ({fault}); choose another checkpoint.")


def _misfit(session: Session) -> str:
    """What would go wrong only later, inside a kernel that trusts its arguments or in a loop that counts; or ""."""
    progress = session.progress
    if not 0 <= progress.step <= session.total_steps or not 0 <= progress.window <= session.data.steps_per_epoch:
        return "it stands at a step that the run does not have"
    for parameter, numbers in session.optimizer.state.items():
        for name, value in numbers.items():
            if name in ("step", "mu_product"):
                fits = isinstance(value, int | float) or (isinstance(value, Tensor) and value.numel() == 1)
            else:  # fused kernels look at no shape but the parameter's
                fits = value is None or (
                    isinstance(value, Tensor) and value.shape == _state_shape(str(name), parameter.shape)
                )
            if not fits:
                return f"the optimizer's {escape_unprintable(str(name), 60)} has another form than its parameter"
    return ""


def _lack(session: Session, wanted: Mapping[Tensor, set[str]]) -> str:
    """What the optimizer has no longer of all that it had when it was made, which is all that it works with; or ""."""
    for parameter, names in wanted.items():
        gone = names - set(session.optimizer.state.get(parameter, {}))
        if gone:
            return f"the optimizer's {min(gone)} is not there for each weight"
    return ""


def _state_shape(name: str, shape: torch.Size) -> torch.Size:
    """The shape of a parameter's state: its own, but for what Adafactor keeps of rows and columns."""
    if name == "row_var":
        return torch.Size((*shape[:-1], 1))
    if name == "col_var":
        return torch.Size((*shape[:-2], 1, *shape[-1:]))
    return shape
