"""Whether data, model and objective go together, as far as settings tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from training.config.run import RunConfig, alternatives, task_kinds
from training.config.sections.data.dataset_section import DatasetSection
from training.config.sections.data.image_section import ImageSection
from training.config.sections.model_section import ModelSection
from training.config.sections.multi_task import MultiTask
from training.config.sections.objective import Objective
from training.errors import Problem, join_choices
from training.facts import Target
from training.metric_names import METRICS

_INPUTS = {"image": "images", "vector": "numbers", "tokens": "text", "list": "queries with their items"}
_TARGETS: dict[Target, str] = {
    "class": "one class for each sample",
    "labels": "labels, any number for each sample",
    "values": "numbers to predict",
    "mask": "masks",
    "tokens": "text",
    "ranks": "items to rank",
    "tasks": "several targets, each a class or a number",
}
_MEANT: dict[Target, str] = {
    "class": "each of its values is a class",
    "labels": "it is 0 or 1 throughout",
    "values": "what it holds are numbers",
    "tasks": "they are of several kinds",
}
_TOLD = 20
"""Metrics at most that a sentence lists: of many targets there are thousands."""


def task_problems(config: RunConfig, found_target: Target | None = None) -> Iterator[Problem]:
    """At most one for the model, one for the objective, one for the monitored metric and one for each way of mixing.
    ``found_target`` is what the data itself told where the settings do not."""
    dataset, model, objective = config.dataset, config.model, config.objective
    fix: dict[str, JsonValue] = {}  # one for all: whoever takes other data wants a task and a model that go with it
    targets = (found_target,) if dataset.target is None and found_target else dataset.possible_targets
    given = f"gives {_TARGETS[targets[0]]}" if len(targets) == 1 else "gives none"
    wrong_task = not set(targets) & set(objective.takes)
    if wrong_task:
        others = [kind for kind, task in task_kinds().items() if set(targets) & set(task.takes)]
        others = [kind for kind in others if kind not in ("binary", "user_loss")]  # which needs exactly two classes
        fix |= {"objective.kind": others[0]} if others else {}
    answers = _answers_to(
        set(targets) & set(objective.takes) or targets
    )  # the task may decide what the data leaves open
    fits = dataset.layout in model.takes and bool(answers & set(model.answers))
    suiting = [] if fits else _suiting_models(dataset, answers)
    fix |= {"model.kind": suiting[0]} if suiting else {}
    if wrong_task:
        wanted = " or ".join(_TARGETS[each] for each in objective.takes)
        advice = f"choose {join_choices(others)}" if others else "choose other data"
        meant = [each for each in objective.takes if each in dataset.possible_targets]
        if found_target and meant:  # the data was guessed to be something else
            advice += f", or set dataset.task to {meant[0]} if {_MEANT[meant[0]]}"
        what = f"{objective.kind} needs {wanted}, but {dataset.kind} {given}; {advice}."
        yield Problem("objective.kind", what, fix)
    advice = f"choose {join_choices(suiting)}" if suiting else "choose other data"
    if dataset.layout not in model.takes:
        wanted = " or ".join(_INPUTS[each] for each in model.takes)
        what = f"{model.kind} needs {wanted}, but {dataset.kind} gives {dataset.called}; {advice}."
        yield Problem("model.kind", what, fix)
    elif not fits:
        each = "one answer for each sample", "an answer for each pixel"
        gives, asks = each if "place" in answers else each[::-1]
        who = dataset.kind if answers == _answers_to(targets) else "the task"
        yield Problem("model.kind", f"{model.kind} gives {gives}, but {who} asks for {asks}; {advice}.", fix)
    target = targets[0] if len(targets) == 1 else None
    if isinstance(dataset, ImageSection) and target not in (None, "class", "labels", "values"):
        what = f"two samples have no target in common where {dataset.kind} {given}; set it to 0."
        for name in ("mixup_alpha", "cutmix_alpha"):
            if getattr(dataset, name):
                yield Problem(f"dataset.{name}", what, {f"dataset.{name}": 0.0})
    if config.loader.sampling == "balanced" and "class" not in targets:
        what = f"only samples of one class each can be drawn class by class, but {dataset.kind} gives {_TARGETS[targets[0]]}"
        yield Problem("loader.sampling", f"{what}; choose shuffle.", {"loader.sampling": "shuffle"})
    known = ["auto", *offer_monitors(objective, dataset)]
    metric = config.checkpoints.monitor
    if metric not in known:
        what = "is not measured" if metric in [f"val/{each.name}" for each in METRICS] else "is no metric"
        advice = f"choose {join_choices(known)}." if len(known) <= _TOLD else f"choose {_join_some(known)}."
        yield Problem(
            "checkpoints.monitor",
            f"{metric!r} {what} under {objective.kind}; {advice}",
            {"checkpoints.monitor": "auto"},
        )


def offer_monitors(objective: Objective, dataset: DatasetSection) -> list[str]:
    """What may decide which checkpoint is best, as ``checkpoints.monitor`` names it, the usual first and the loss last; of
    several targets all that could be measured, as the data alone tells which are classes."""
    measured = [name for name in objective.metrics if name != "loss"]
    if isinstance(objective, MultiTask):
        measured = objective.metrics_of([str(name) for name in getattr(dataset, "targets", ())])
    return [f"val/{name}" for name in (*measured, "loss")]


def find_misfits(config: RunConfig, section: str) -> dict[str, str]:
    """The kinds of ``section`` that do not go with the data of ``config`` ("objective"), or with its data and task ("model"), each with
    what ``task_problems`` says of it."""
    found: dict[str, str] = {}
    for kind, alternative in alternatives(section).items():
        tried = config.model_copy(update={section: alternative.model_construct()})
        wrong = (problem.message for problem in task_problems(tried) if problem.path == f"{section}.kind")
        if why := next(wrong, ""):
            found[kind] = why
    return found


def _answers_to(targets: Iterable[Target]) -> set[str]:
    """What of a sample is answered: the whole, or each place of it."""
    return {"place" if target in ("mask", "tokens") else "sample" for target in targets}


def _suiting_models(dataset: DatasetSection, answers: set[str]) -> list[str]:
    """Kinds of networks for such data, best first; but for a person's own, which suits everything if it is written so."""
    suiting = [
        kind
        for kind, model in alternatives("model").items()
        if issubclass(model, ModelSection)
        if dataset.layout in model.takes and answers & set(model.answers) and kind != "user_file"
    ]
    return sorted(suiting, key=lambda kind: dataset.suits.index(kind) if kind in dataset.suits else len(dataset.suits))


def _join_some(kinds: list[str]) -> str:
    """The first and the last of very many."""
    return f"{', '.join(kinds[: _TOLD - 1])}, ... or {kinds[-1]}"
