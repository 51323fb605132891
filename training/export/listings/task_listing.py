"""What the script of a run says about its task: the very loss and metric of the run's objective, written as calls of core."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from training.config.sections.objective_section import ObjectiveSection
from training.core.losses import Loss
from training.core.scores import Metric
from training.export.bundle import ExportBundle
from training.metric_names import Metric as MetricTitle
from training.metric_names import metric
from training.objectives.own_loss import CheckedLoss
from training.tutorial.literals import Setting, call, code, prose, setting

TRUTH = {
    "class": "classes",
    "labels": "labels",
    "values": "values",
    "tokens": "following",
    "mask": "masks",
    "ranks": "ranks",
    "tasks": "truths",
}
_SAMPLES = {
    "image": "Images uint8 (n, height, width, channels)",
    "vector": "Rows float32 (n, columns)",
    "list": "Queries float32 (n, items, columns)",
    "tokens": "Windows of CONTEXT tokens (n, CONTEXT)",
}
_WORDS = {
    "class": "classes int64 (n,)",
    "mask": "masks uint8 (n, height, width)",
    "tokens": "the token that follows each",
    "tasks": "truths float32 (n, targets), each a value or the number of a class",
}
_SETTINGS = {
    "weight": ("CLASS_WEIGHTS", "Weight of each class in the loss."),
    "ignore_index": ("IGNORE_INDEX", "The class that counts nowhere."),
    "pos_weight": ("POS_WEIGHT", "How much more a sample counts that is of the class, or carries the label."),
    "threshold": ("POSITIVE_FROM", "From this probability on the answer is yes."),
    "delta": ("DELTA", "Where the Huber loss turns from squared to absolute."),
    "margin": ("MARGIN", None),
    "k": ("NEIGHBORS", "How many nearest neighbors Recall@k looks at."),
    "top": ("TOP", "Ranks from the top that NDCG looks at."),
    "smooth": ("SMOOTH", "Steadies the Dice loss of areas of few pixels."),
    "share": ("DICE_WEIGHT", "Share of the Dice loss."),
    "mean": ("TARGET_MEAN", "Of the values to predict, in training."),
    "std": ("TARGET_STD", ""),
    "label_smoothing": ("LABEL_SMOOTHING", None),
    "temperature": ("TEMPERATURE", None),
    "alpha": ("ALPHA", None),
}
"""What a script calls an argument of a loss or a metric, and the comment; None: the help of the setting of that name."""


@dataclass(frozen=True)
class Task:
    """The loss and the metric, and how what is to be predicted is called."""

    loss_and_metric: str
    tensors: dict[str, str]
    """The setting that each is made of, by the argument it is given as."""
    settings: list[Setting]
    samples_words: str
    truth: str
    truth_words: str
    targets: str
    score: MetricTitle
    monitored: str


def describe_task(bundle: ExportBundle) -> Task:
    """For the templates."""
    config, objective, target = bundle.config, bundle.objective, bundle.facts.target
    judged_by_loss = config.monitor == "val/loss"
    measured = next(iter(objective.metrics)) if judged_by_loss else config.monitor.removeprefix("val/")
    score = metric(measured)
    if target_name := measured.rpartition("/")[0]:
        score = replace(score, title=f"{prose(target_name)} {score.title}")
    truth = TRUTH[target]
    calls = _Calls(config.objective)
    measure = calls.write(objective.metrics[measured])  # first: its mean of the values has all digits
    both = call("", [calls.write(objective.loss), measure])
    return Task(
        loss_and_metric=both if "\n" in both else both[1:-1],
        tensors=calls.tensors,
        settings=list(calls.settings.values()),
        samples_words=_SAMPLES[bundle.facts.layout],
        truth=truth,
        truth_words=_WORDS.get(target, f"{truth} float32"),
        targets="pixel_classes(masks[batch])" if target == "mask" else f"{truth}[batch]",
        score=score,
        monitored="val_loss" if judged_by_loss else "val_score",
    )


class _Calls:
    """Writes what core's losses and metrics are made of, numbers as settings in capitals."""

    def __init__(self, section: ObjectiveSection) -> None:
        self._section = section
        self.settings: dict[str, Setting] = {}
        self.tensors: dict[str, str] = {}

    def write(self, value: Any, argument: str = "") -> str:
        """``value`` as Python source; ``argument`` is what it is given as."""
        if isinstance(value, Loss | Metric):
            given = [*value._asdict().items()]
            while given and given[-1][1] is value._field_defaults.get(given[-1][0]):
                given.pop()
            return call(type(value).__name__, [self.write(each, name) for name, each in given])
        if isinstance(value, partial):
            words = [f"{name}={self.write(each, name)}" for name, each in value.keywords.items()]
            return call("partial", [self.write(value.func), *words]) if words else self.write(value.func)
        if isinstance(value, Tensor):
            self.tensors[argument] = self._name(value.tolist(), argument)
            return argument
        if isinstance(value, CheckedLoss):
            return "make_loss(device)"
        if callable(value):
            modules = {"torch.": torch, "nn.functional.": functional}
            found = [name for name, module in modules.items() if getattr(module, value.__name__, None) is value]
            return f"{found[0] if found else ''}{value.__name__}"
        if isinstance(value, list | tuple) and argument not in _SETTINGS:
            return f"[{', '.join(map(self.write, value))}]" if argument else f"({', '.join(map(self.write, value))})"
        return self._name(value, argument) if argument in _SETTINGS else code(value)

    def _name(self, value: object, argument: str) -> str:
        name, comment = _SETTINGS[argument]
        if comment is None:
            comment = setting(self._section, argument).comment
        known, number = name, 1
        while name in self.settings and self.settings[name].value != value:  # of another of several targets
            number += 1
            name = f"{known}_{number}"
        self.settings.setdefault(name, Setting(comment, name, value))
        return name
