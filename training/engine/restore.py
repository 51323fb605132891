"""What a session takes over from a checkpoint: everything (resume), or what still fits (branch)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from training.atomic import write_bytes
from training.checkpoints.load import load_state, load_tensors, load_weights
from training.checkpoints.write import AVERAGED
from training.config import RunConfig, parse_config
from training.config.diff import Change, diff
from training.data.plan import plan
from training.engine.session import Progress, Session
from training.errors import CheckpointError, InputError
from training.events import EpochEnded, Event, Found, Validated
from training.optim.optimizers import load_optimizer
from training.runs.folder import RunFolder, read_json
from training.runs.history import read_history
from training.runs.series import STEP_ROW, SeriesWriter, read_series


class Restore(Protocol):
    """Puts a session where a checkpoint stood."""

    @property
    def checkpoint(self) -> Path | None:
        """The checkpoint's folder; None when there is none to go on from."""

    @property
    def findings(self) -> list[Found]:
        """What to tell when the attempt begins, known after ``apply``."""

    def apply(self, folder: RunFolder, session: Session) -> None:
        """Change ``session``; raises CheckpointError when the checkpoint does not fit."""


@dataclass
class Resume:
    """The same run goes on: every number, to the bit."""

    checkpoint: Path
    manifest: dict[str, Any]
    refused: list[str]  # newer checkpoints that are damaged
    findings: list[Found] = field(default_factory=list)

    def apply(self, folder: RunFolder, session: Session) -> None:
        """Load weights, averaged weights and training state."""
        self._refuse_other_settings(folder, session)
        load_weights(self.checkpoint, session.model)
        state = load_state(self.checkpoint)
        _load_average(self.checkpoint, session, state)
        session.load_training_state(state)
        for sentence in self.refused:
            self.findings.append(
                Found(
                    level="warning",
                    title=f"A newer checkpoint is damaged, so the run goes on from step {session.progress.step}.",
                    advice=sentence,
                    step=session.progress.step,
                )
            )

    def _refuse_other_settings(self, folder: RunFolder, session: Session) -> None:
        """A configuration edited by hand would go on as the same run without being it."""
        before = parse_config(self.manifest["config"], str(self.checkpoint), paths=False)
        for change in diff(before, session.config):
            if change.affects_result and change.path != "dataset.path":  # files may move: their content is compared
                raise CheckpointError(
                    f"{folder.config_file}: was changed since this run was saved ({change}); change it back, or resume "
                    "with --set, which makes a branch."
                )
        if self.manifest["data"]["fingerprint"] != session.data.source.fingerprint:
            raise CheckpointError(
                f"{self.checkpoint}: was trained on other data than there is now; put the old files back, or branch."
            )


@dataclass
class Branch:
    """A new run begins with a checkpoint's weights, and goes on at its step where the course of steps is the same."""

    checkpoint: Path
    manifest: dict[str, Any]
    parent: RunFolder
    findings: list[Found] = field(default_factory=list)
    _continues: bool = False

    def apply(self, folder: RunFolder, session: Session) -> None:
        """Load what fits and say what was restored and what was not."""
        before = parse_config(self.manifest["config"], str(self.checkpoint), paths=False)
        after = session.config
        load_weights(self.checkpoint, session.model)
        state = load_state(self.checkpoint)
        same_data = self.manifest["data"]["fingerprint"] == session.data.source.fingerprint
        windows = plan(session.data.plan.n, before.loop.batch_size, before.loop.accumulation)
        same_course = session.data.plan.has_windows_of(windows) and (
            before.dataset.validation_fraction,
            before.dataset.split_seed,
            before.seed,
        ) == (
            after.dataset.validation_fraction,
            after.dataset.split_seed,
            after.seed,
        )
        same_optimizer = before.optimizer.kind == after.optimizer.kind and _fits(state["optimizer"], session.optimizer)
        self._continues = same_data and same_course
        restored = ["weights"]
        if session.ema is not None and (self.checkpoint / AVERAGED).is_file():
            _load_average(self.checkpoint, session, state)
            restored.append("averaged weights")
        if same_optimizer:
            hyper = [dict(group) for group in session.optimizer.param_groups]
            load_optimizer(session.optimizer, state["optimizer"])
            for group, new in zip(session.optimizer.param_groups, hyper, strict=True):
                group.update({key: value for key, value in new.items() if key != "params"})  # the new settings rule
            restored.append("optimizer state")
        if session.numerics.scaler and state["scaler"]:
            session.numerics.scaler.load_state_dict(state["scaler"])
            restored.append("loss scale")
        if session.schedule.plateau and state["plateau"] and self._continues and _judged_alike(before, after):
            session.schedule.plateau.load(state["plateau"])
            restored.append("plateau")
        session.guard.remember()  # a first step that is skipped must put these buffers back, not fresh ones
        if self._continues:
            session.progress = _continued(state["progress"])
            self._refuse_past_end(session)
            restored.append("position in the data")
            self._copy_series(folder, session.progress.step)
        session.apply_schedule()
        changes = [str(change) for change in diff(before, after) if change.path != "name"]
        left_out = [] if self._continues else ["position in the data, because the samples or their order differ"]
        if not same_optimizer:
            left_out.append("optimizer state, because the optimizer differs or keeps other numbers")
        text = f"Branched from step {self.manifest['step']} of {self.parent.id}. Restored: {', '.join(restored)}."
        advice = (f"Changed: {'; '.join(changes)}. " if changes else "") + (
            f"Not restored: {'; '.join(left_out)}." if left_out else ""
        )
        self.findings.append(Found(level="info", title=text, advice=advice.strip(), step=session.progress.step))

    def _refuse_past_end(self, session: Session) -> None:
        if session.progress.step >= session.total_steps:
            raise InputError(
                f"{self.checkpoint}: lies at step {session.progress.step}, but with the new settings the run ends after "
                f"step {session.total_steps}; raise loop.epochs or loop.max_steps, or choose an earlier checkpoint."
            )

    def _copy_series(self, folder: RunFolder, steps: int) -> None:
        """The parent's rows up to the branch, so that the new run's curve reads as one line."""
        rows = read_series(self.parent.series_file)[:steps]
        if len(rows) < steps:
            raise CheckpointError(
                f"{self.parent.series_file}: holds {len(rows)} of the {steps} steps before this checkpoint."
            )
        writer = SeriesWriter(folder.series_file, STEP_ROW)
        writer.append(rows)
        writer.close()

    def earlier_events(self, session: Session) -> list[Event]:
        """The parent's validations and epochs up to the branch."""
        if not self._continues:
            return []
        history = read_history(self.parent.events_file)
        events: list[Validated | EpochEnded] = [*history.epochs, *history.validations]
        return [event for event in sorted(events, key=lambda event: event.time) if event.step <= session.progress.step]


@dataclass
class Anew:
    """A run that ended before its first checkpoint begins again from the start, as a new run with changed settings."""

    ended: RunFolder
    changes: list[Change]
    findings: list[Found] = field(default_factory=list)
    checkpoint: None = None

    def apply(self, folder: RunFolder, session: Session) -> None:
        """Nothing is taken over; say so."""
        self.findings.append(
            Found(
                level="info",
                title=f"The run {self.ended.id} had no checkpoint yet, so this is a new run from the beginning.",
                advice=f"Changed: {'; '.join(map(str, self.changes))}.",
            )
        )


def _fits(saved: dict[str, Any], optimizer: torch.optim.Optimizer) -> bool:
    """Whether ``saved`` has the very entries that ``optimizer`` works with (other groups or AMSGrad need others)."""

    def entries(state: dict[str, Any]) -> Any:
        groups = [group["params"] for group in state["param_groups"]]
        return groups, {key: set(numbers) for key, numbers in state["state"].items()}

    return bool(entries(saved) == entries(optimizer.state_dict()))


def _judged_alike(before: RunConfig, after: RunConfig) -> bool:
    return before.schedule == after.schedule and before.checkpoints.monitor == after.checkpoints.monitor


def _continued(saved: dict[str, Any]) -> Progress:
    """The parent's progress for a branch: the best of a run is one of its own checkpoints, so it is sought anew."""
    return replace(
        Progress(**saved),
        finished="",
        best_value=None,
        best_step=0,
        counted_value=None,
        stale_validations=0,
        batch_size=0,
        evaluation_size=0,
    )


def _load_average(checkpoint: Path, session: Session, state: dict[str, Any]) -> None:
    if session.ema is not None and (checkpoint / AVERAGED).is_file():
        session.ema.load_state_dict(load_tensors(checkpoint / AVERAGED), state["ema_updates"])


def check_data(folder: RunFolder, session: Session) -> None:
    """Refuse a dataset that is not the one the run began with; raises InputError saying what differs."""
    known = read_json(folder.data_file)
    if not known:
        return
    new = session.data.report
    if known.get("fingerprint") == new["fingerprint"] and known.get("classes") == new["classes"]:
        return
    differing = [
        f"{name} were {known[name]} and are {new[name]}"
        for name in ("classes", "samples")
        if name in known and name in new and known[name] != new[name]
    ]
    raise InputError(
        "The dataset is not the one this run was trained on"
        + (f" ({'; '.join(differing)[:300]})" if differing else " (the content of its files differs)")
        + ". Put the old files back, or start a new run or a branch with the new ones."
    )


def save_splits(folder: RunFolder, session: Session) -> None:
    """Write which sample is in which part; on a later attempt compare instead, raising InputError when they differ."""
    parts = {name: indices.cpu().contiguous() for name, indices in session.data.splits.items()}
    if folder.splits_file.exists():
        try:
            known = load_file(folder.splits_file)
        except (OSError, SafetensorError) as error:
            raise InputError(f"{folder.splits_file}: is damaged ({error}); restore it from a backup.") from error
        if set(known) != set(parts) or any(not known[name].equal(parts[name]) for name in parts):
            raise InputError(f"{folder.splits_file}: the split of the data differs from the one this run began with.")
        return
    write_bytes(folder.splits_file, save(parts))
