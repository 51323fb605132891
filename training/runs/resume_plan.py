"""What a resume or a branch takes over from a checkpoint, decided and told in one place.

The decision needs no more than the two configurations and the checkpoint's manifest, so it can be shown before anything
is opened. The engine restores what ``ResumePlan.parts`` says. Only the content of the data is unknown until then: pass
``same_data`` once it is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from training.config.diff import Change, diff
from training.config.rules.effects import Effect, effect_of
from training.config.rules.inactive_settings import find_inactive
from training.config.rules.optimizer_state import averaging, optimizer_numbers, optimizer_obstacle
from training.config.rules.schedule_problems import durations_of
from training.config.rules.weights_fit import (
    find_renumbering,
    normalization_notes,
    other_outputs,
    outputs_unknown,
    redividing,
    shaping,
)
from training.config.run import RunConfig
from training.errors import InputError, pluralize
from training.runs.records.forms import Manifest

Part = Literal[
    "weights", "averaged weights", "optimizer", "loss scale", "plateau", "position", "random numbers", "records"
]

_CLAUSES: Mapping[Effect, str] = {
    "none": "no result depends on {}",
    "place": "the data is read from the new {}; its content is compared with what the run was trained on",
    "device": "numbers may differ in their last digits from here on, because of {}",
    "augmentation": "the training images are augmented otherwise from here on, because of {}",
    "beginning": "only random initial weights depend on {}, and the checkpoint's take their place",
    "network": "the weights fit, but the network computes otherwise from here on, because of {}",
    "loss": "the loss is another from here on, because of {}, so its curve may jump",
    "rate": "the learning rate is another from here on, because of {}",
    "update": "the optimizer steps otherwise from here on, because of {}",
    "rounding": "numbers are rounded otherwise from here on, because of {}",
    "judging": "what is measured, or what counts as best, is another from here on, because of {}",
    "ending": "the run may end at another step than it would have, because of {}",
    "average": "the average of the weights is taken otherwise from here on, because of {}",
    "training": "steps are taken otherwise from here on, because of {}",
}
"""Effects that are not here decide what is restored, and are told with that."""

_LAID_OUT = ("one_cycle", "linear", "cosine", "polynomial", "wsd")
"""Schedules whose rate at a step depends on the length of the whole run."""


@dataclass(frozen=True)
class ResumePlan:
    """What is restored, changed and ignored.

    ``continues``: the run goes on at the checkpoint's step and place in the data; else it begins at step 0 with the
    checkpoint's weights. ``ignored`` and ``notes`` are whole clauses with the reason. ``refused`` says why it cannot be
    done at all, "" otherwise. ``same_run``: no branch, the run itself goes on.
    """

    continues: bool
    restored: tuple[str, ...]
    changed: tuple[Change, ...]
    ignored: tuple[str, ...]
    notes: tuple[str, ...]
    parts: frozenset[Part] = frozenset()
    refused: str = ""
    same_run: bool = False


def keeps_run(changes: Sequence[Change]) -> bool:
    """Whether a run with ``changes`` is still the same run: they change no result, or only where it works."""
    return all(effect_of(change) in ("none", "name", "place", "device") for change in changes)


def make_plan(before: RunConfig, after: RunConfig, manifest: Manifest) -> ResumePlan:
    """the plan of a resume with changed settings: the same run where that is possible, else a branch."""
    return (plan_resume if keeps_run(diff(before, after)) else plan_branch)(before, after, manifest)


def plan_resume(before: RunConfig, after: RunConfig, manifest: Manifest) -> ResumePlan:
    """The same run goes on from the checkpoint of ``manifest``: everything is restored."""
    every = diff(before, after)
    changes = [change for change in every if change.path != "name"]
    parts: frozenset[Part] = frozenset((*_parts(before, after, manifest, continues=True), "records"))
    return ResumePlan(
        continues=True,
        restored=_list_restored(parts, after),
        changed=tuple(changes),
        ignored=() if changes == every else ("the new name, because a run keeps its own",),
        notes=tuple(_clauses(changes, after)),
        parts=parts,
        same_run=True,
    )


def plan_branch(
    before: RunConfig,
    after: RunConfig,
    manifest: Manifest,
    same_data: bool | None = None,
    teacher: str = "",
) -> ResumePlan:
    """A new run with the settings ``after`` begins from the checkpoint of ``manifest``, made with ``before``.

    ``same_data`` is whether the data's content is what it was; None, as long as it was not opened, trusts the settings.
    ``teacher`` says which of its files are others, "" as long as they were not opened.
    """
    changes = tuple(change for change in diff(before, after) if change.path != "name")
    reasons = _reasons_to_begin_anew(changes, before, after, manifest, same_data)
    ended = "" if reasons else _past_end(after, manifest)
    if ended and same_data is None and _acting_on(changes, "place"):
        ended, reasons = "", ["the data is taken for other data (dataset.path), or nothing would be left to do"]
    refused = _refusal(changes, before, after) or ended
    if refused:
        return ResumePlan(False, (), changes, (), (), refused=refused)
    parts = _parts(before, after, manifest, continues=not reasons)
    return ResumePlan(
        continues=not reasons,
        restored=_list_restored(parts, after),
        changed=changes,
        ignored=tuple(_list_ignored(before, after, manifest, parts, reasons)),
        notes=(*_clauses(changes, after), *_of_teacher(changes, teacher), *_notes(changes, before, after, parts)),
        parts=parts,
    )


# --------------------------------------------------------------------------------------------------- the decisions


def _refusal(changes: Sequence[Change], before: RunConfig, after: RunConfig) -> str:
    """Why the weights cannot be taken over, as far as the settings tell."""
    shapes = _acting_on(changes, "shape")
    if not shapes:
        return find_renumbering(before, after) or other_outputs(before, after)
    return (
        f"the weights belong to another model, because {_join_paths(shapes)} {_was(shapes)} changed; use the model settings "
        "they were saved with, or start a new run"
    )


def _past_end(after: RunConfig, manifest: Manifest) -> str:
    """Why nothing would be left to do; what an epoch holds is the same, or the run would start from the beginning."""
    step, epoch, limit = manifest.step, manifest.epoch, after.loop.max_steps
    if epoch < after.loop.epochs and (limit is None or step < limit):
        return ""
    end = f"step {limit:,}" if limit is not None and step >= limit else f"epoch {after.loop.epochs:,}"
    return (
        f"the checkpoint lies at step {step}, after {pluralize(epoch, 'whole epoch')}, but with the new settings the run ends after "
        f"{end}; raise loop.epochs or loop.max_steps, or choose an earlier checkpoint"
    )


def _reasons_to_begin_anew(
    changes: Sequence[Change],
    before: RunConfig,
    after: RunConfig,
    manifest: Manifest,
    same_data: bool | None,
) -> list[str]:
    """Why the checkpoint's place in the data means nothing in the new run; empty when it does mean something."""
    data, order = _acting_on(changes, "data"), _acting_on(changes, "order")
    windows = _acting_on(changes, "windows")
    reasons = []
    if data:
        reasons.append(f"the samples differ ({_join_paths(data)})")
    elif same_data is False:
        reasons.append("the content of the data differs")
    if order:
        reasons.append(f"the samples come in another order ({_join_paths(order)})")
    if windows and not _same_windows(before, after, manifest):
        reasons.append(f"a step holds other samples ({_join_paths(windows)})")
    return reasons


def _same_windows(before: RunConfig, after: RunConfig, manifest: Manifest) -> bool:
    """Whether each step sees the same samples, however they are cut into batches; earlier versions did not note how many
    samples there are."""
    if all(getattr(before.loop, name) == getattr(after.loop, name) for name in ("batch_size", "accumulation")) and (
        before.loader.drop_last == after.loader.drop_last
    ):
        return True
    samples = manifest.data.training_samples
    if not isinstance(samples, int) or samples < 1:
        return False
    try:
        return after.plan_epoch(samples).has_steps_of(before.plan_epoch(samples))
    except InputError:  # no batch is left: refused once the data is open
        return False


def _parts(before: RunConfig, after: RunConfig, manifest: Manifest, continues: bool) -> frozenset[Part]:
    parts: set[Part] = {"weights"}
    if manifest.averaged and averaging(before) == averaging(after):
        parts.add("averaged weights")
    if not optimizer_obstacle(before, after):
        parts.add("optimizer")
    if before.precision.compute == after.precision.compute == "fp16":
        parts.add("loss scale")
    if continues:
        parts |= {"position", "random numbers"}
        alike = before.schedule == after.schedule and before.monitor == after.monitor
        if after.schedule.kind == "plateau" and alike:
            parts.add("plateau")
    return frozenset(parts)


# ------------------------------------------------------------------------------------------------------- the words


def _list_restored(parts: frozenset[Part], config: RunConfig) -> tuple[str, ...]:
    words: dict[Part, str] = {
        "weights": "the weights",
        "averaged weights": "the averaged weights",
        "optimizer": optimizer_numbers(config),
        "loss scale": "the loss scale of fp16",
        "plateau": "what the plateau schedule remembers",
        "position": "the step and the data-loader position",
        "random numbers": "the state of the random numbers",
        "records": "the best value so far and early stopping's count",
    }
    return tuple(text for part, text in words.items() if part in parts and text)


def _list_ignored(
    before: RunConfig, after: RunConfig, manifest: Manifest, parts: frozenset[Part], reasons: Sequence[str]
) -> list[str]:
    clauses = []
    if manifest.averaged and "averaged weights" not in parts:
        clauses.append(f"the averaged weights, because loop.{averaging(before)} is off now")
    if "optimizer" not in parts and optimizer_numbers(before):
        clauses.append(f"{optimizer_numbers(before)}, because {optimizer_obstacle(before, after)}")
    if before.precision.compute == "fp16" and "loss scale" not in parts:
        clauses.append(f"the loss scale of fp16, because the run computes in {after.precision.compute} now")
    if "position" not in parts:
        why = " and ".join(reasons)
        clauses.append(f"the step, the data-loader position and the state of the random numbers, because {why}")
    if before.schedule.kind == "plateau" and "plateau" not in parts:
        clauses.append(f"what the plateau schedule remembers, because {_plateau_obstacle(before, after)}")
    best = "the best value so far and early stopping's count"
    return [*clauses, f"{best}, because the best of a run is one of its own checkpoints"]


def _notes(changes: Sequence[Change], before: RunConfig, after: RunConfig, parts: frozenset[Part]) -> list[str]:
    """What starts from the beginning, and what cannot be known yet."""
    paths = {change.path for change in changes}
    notes = []
    if "position" not in parts:
        notes.append("the new run begins at step 0, and so does its learning rate")
    elif "loop.batch_size" in paths:
        notes.append("each step sees the same samples as before, in other batches")
    if "position" in parts and paths & {"loop.epochs", "loop.max_steps"} and is_laid_out(after):
        notes.append("the schedule is laid out over the new length, so the learning rate jumps here")
    if "optimizer" not in parts and optimizer_numbers(after):
        notes.append(f"{optimizer_numbers(after)} begin at zero")
    if after.precision.compute == "fp16" and "loss scale" not in parts:
        notes.append("the loss scale of fp16 begins at torch's default, because the checkpoint has none")
    if averaging(after) and "averaged weights" not in parts:
        notes.append("the average of the weights begins with the restored ones, because the checkpoint has none")
    if leak := explain_leak(changes):
        notes.append(leak)
    if shaping(_telling(changes), after):
        notes.append("the weights fit only samples of the same shape and the same number of classes")
    if outputs_unknown(before, after):
        notes.append("the weights fit only a task that asks for as many outputs")
    return [*notes, *normalization_notes(before, after)]


def explain_leak(changes: Sequence[Change]) -> str:
    """What a branch cannot measure any more, because other samples of the same data are held out; "" where it can."""
    paths = redividing(_telling(changes))
    if not paths:
        return ""
    return (
        f"the weights were trained on samples that are held out now, because of {_join_paths(paths)}: the metrics of the new run are "
        "too good; keep the split to measure, or start a new run"
    )


def is_laid_out(config: RunConfig) -> bool:
    """Whether the rate at a step depends on the length of the whole run."""
    shares = [duration for _, duration in durations_of(config.schedule) if str(duration).endswith("%")]
    return config.schedule.kind in _LAID_OUT or bool(shares)


def _of_teacher(changes: Sequence[Change], became: str) -> list[str]:
    """Of files that were changed in place; other ones that were chosen are among the changes."""
    if not became or {"objective.teacher", "objective.teacher_weights"} & {change.path for change in changes}:
        return []
    return [f"the teacher is another from here on ({became}), so the loss's curve may jump"]


def _plateau_obstacle(before: RunConfig, after: RunConfig) -> str:
    if after.schedule.kind != "plateau":
        return "the schedule is another one now"
    if before.schedule != after.schedule:
        return "the schedule's settings are changed"
    if before.monitor != after.monitor:
        return "it watches another metric now"
    return "the run starts from the beginning"


def _clauses(changes: Sequence[Change], after: RunConfig) -> list[str]:
    """What the changed settings do, those that act alike in one clause."""
    sorts: dict[Effect, list[str]] = {}
    idle = find_inactive(after)
    for change in _telling(changes):
        if change.path not in idle:
            sorts.setdefault(effect_of(change), []).append(change.path)
    clauses = [words.format(_join_paths(sorts[effect])) for effect, words in _CLAUSES.items() if effect in sorts]
    clauses += [
        f"the new length is {_length(each.new, each.path)} (was {_length(each.old, each.path)})"
        for each in changes
        if effect_of(each) == "length"
    ]
    return clauses + [idle[change.path].clause(change.path) for change in _telling(changes) if change.path in idle]


def _length(value: int | None, path: str) -> str:
    return "without a limit" if value is None else pluralize(value, "epoch" if path == "loop.epochs" else "step")


def _telling(changes: Sequence[Change]) -> list[Change]:
    """``changes`` without the settings of a section whose kind changed: another kind has other settings anyway."""
    kinds = {change.path.partition(".")[0] for change in changes if change.path.endswith(".kind")}
    return [change for change in changes if change.path.endswith(".kind") or change.path.partition(".")[0] not in kinds]


def _acting_on(changes: Sequence[Change], effect: Effect) -> list[str]:
    return [change.path for change in _telling(changes) if effect_of(change) == effect]


def _join_paths(paths: Sequence[str]) -> str:
    return paths[0] if len(paths) == 1 else f"{', '.join(paths[:-1])} and {paths[-1]}"


def _was(paths: Sequence[str]) -> str:
    return "is" if len(paths) == 1 else "are"
