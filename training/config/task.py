"""Whether data, model and objective go together, as far as settings tell."""

from __future__ import annotations

from typing import Any, get_args

from training.config.image_section import ImageSection
from training.config.metrics import METRICS
from training.config.run import RunConfig
from training.errors import Problem
from training.facts import Target

_INPUTS = {"image": "pictures", "vector": "numbers", "tokens": "text", "list": "queries with their items"}
_TARGETS: dict[Target, str] = {
    "class": "one class for each sample",
    "labels": "labels, any number for each sample",
    "values": "numbers to predict",
    "mask": "masks",
    "tokens": "text",
    "ranks": "items to rank",
}
_MEANT: dict[Target, str] = {
    "class": "each of its values is a class",
    "labels": "it is 0 or 1 throughout",
    "values": "what it holds are numbers",
}


def task_problems(config: RunConfig, found_target: Target | None = None) -> list[Problem]:
    """At most one for the model, one for the objective, one for the monitored metric and one for each way of mixing.
    ``found_target`` is what the data itself told where the settings do not."""
    dataset, model, objective = config.dataset, config.model, config.objective
    found: list[Problem] = []
    fix: dict[str, Any] = {}  # one for all: whoever takes other data wants a task and a model that go with it
    targets = (found_target,) if dataset.target is None and found_target else dataset.possible_targets
    if not set(targets) & set(objective.takes):
        wanted = " or ".join(_TARGETS[each] for each in objective.takes)
        others = [
            kind
            for kind, section in _alternatives("objective").items()
            if set(targets) & set(section.takes) and kind != "binary"  # which needs exactly two classes
        ]
        advice = f"choose {_listed(others)}" if others else "choose other data"
        meant = [each for each in objective.takes if each in dataset.possible_targets]
        if found_target and meant:  # the data was guessed to be something else
            advice += f", or set dataset.task to {meant[0]} if {_MEANT[meant[0]]}"
        fix |= {"objective.kind": others[0]} if others else {}
        given = f"gives {_TARGETS[targets[0]]}" if len(targets) == 1 else "gives none"
        found.append(
            Problem("objective.kind", f"{objective.kind} needs {wanted}, but {dataset.kind} {given}; {advice}.", fix)
        )
    answers = {"place" if target in ("mask", "tokens") else "sample" for target in targets}
    suiting = [
        kind
        for kind, section in _alternatives("model").items()
        if dataset.layout in section.takes
        and answers & set(section.answers)
        and kind != "user_file"  # which suits everything, if the person writes it so
    ]
    suiting.sort(key=lambda kind: dataset.suits.index(kind) if kind in dataset.suits else len(dataset.suits))
    advice = f"choose {_listed(suiting)}" if suiting else "choose other data"
    fits = dataset.layout in model.takes and bool(answers & set(model.answers))
    fix |= {} if fits or not suiting else {"model.kind": suiting[0]}
    if dataset.layout not in model.takes:
        wanted = " or ".join(_INPUTS[each] for each in model.takes)
        found.append(
            Problem(
                "model.kind", f"{model.kind} needs {wanted}, but {dataset.kind} gives {dataset.called}; {advice}.", fix
            )
        )
    elif not fits:
        gives = "one answer for a sample" if "place" in answers else "an answer for each of its pixels"
        found.append(
            Problem("model.kind", f"{model.kind} gives {gives}, which {dataset.kind} is not for; {advice}.", fix)
        )
    found += _mixing_problems(config, targets[0] if len(targets) == 1 else None)
    if config.loader.sampling == "balanced" and "class" not in targets:
        what = f"only samples of one class each can be drawn class by class, but {dataset.kind} gives {_TARGETS[targets[0]]}"
        found.append(Problem("loader.sampling", f"{what}; choose shuffle.", {"loader.sampling": "shuffle"}))
    known = ["auto", *(f"val/{name}" for name in (*objective.metrics, "loss"))]
    if config.checkpoints.monitor not in known:
        metric = config.checkpoints.monitor
        what = "is not measured" if metric in [f"val/{each.name}" for each in METRICS] else "is no metric"
        found.append(
            Problem(
                "checkpoints.monitor",
                f"{metric!r} {what} under {objective.kind}; choose {_listed(known)}.",
                {"checkpoints.monitor": "auto"},
            )
        )
    return found


def _mixing_problems(config: RunConfig, target: Target | None) -> list[Problem]:
    dataset = config.dataset
    if not isinstance(dataset, ImageSection) or target in (None, "class", "labels", "values"):
        return []
    what = f"two samples have no target in common where {dataset.kind} gives {_TARGETS[target]}"
    return [
        Problem(f"dataset.{name}", f"{what}; set it to 0.", {f"dataset.{name}": 0.0})
        for name in ("mixup_alpha", "cutmix_alpha")
        if getattr(dataset, name)
    ]


def _alternatives(section: str) -> dict[str, Any]:
    """The classes that may stand there, by their kind."""
    annotation = RunConfig.model_fields[section].annotation
    classes = get_args(annotation) or (annotation,)
    return {each.model_fields["kind"].default: each for each in classes}


def _listed(kinds: list[str]) -> str:
    """``mlp``, ``auto or val/loss``"""
    return " or ".join([", ".join(kinds[:-1]), kinds[-1]] if len(kinds) > 1 else kinds)
