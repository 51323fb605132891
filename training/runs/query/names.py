"""What a filter may ask of a run, and which of it is meant by a name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from training.config.run import SECTIONS, RunConfig, alternatives
from training.metric_names import METRICS, is_known, metric

Form = Literal["text", "number", "time", "duration", "yes", "tags", "any"]
"""Of what kind values are; a setting or a metric may be of any."""

FACTS: dict[str, Form] = {
    "name": "text",
    "run": "text",
    "status": "text",
    "dataset": "text",
    "model": "text",
    "parent": "text",
    "data": "text",
    "notes": "text",
    "tags": "tags",
    "star": "yes",
    "archived": "yes",
    "step": "number",
    "epoch": "number",
    "created": "time",
    "age": "duration",
    "duration": "duration",
}
"""What is asked of every run beside its settings and metrics. ``created`` is in seconds since 1970, durations in seconds; ``data`` is the
fingerprint of the data."""
_ALSO = {
    "tag": "tags",
    "id": "run",
    "starred": "star",
    "archive": "archived",
    "steps": "step",
    "epochs": "epoch",
    "note": "notes",
}
_PARTS = ("val", "train", "test")
_MOST_SHOWN = 4


@dataclass(frozen=True)
class Name:
    """``key`` is how the values of a run are called: "lr" means ``optimizer.lr``, ``best(val/accuracy)`` stands as it is."""

    key: str
    form: Form


class Unknown(ValueError):
    """There is no such name, or several; the text says which are near."""


class Names:
    """All names that a filter may have. A setting has its whole name, or its last part where no other has it; a metric that names
    no part of the data is the validation's."""

    def __init__(self, settings: Iterable[str], metrics: Iterable[str], measured: Iterable[str] | None = None) -> None:
        """``measured``: the metrics that some run has, which alone are offered; all where nobody knows."""
        self.settings = frozenset(settings)
        self.metrics = frozenset(metrics)
        self.measured = self.metrics if measured is None else frozenset(measured)
        self._short: dict[str, list[str]] = {}
        for name in sorted(self.settings):
            self._short.setdefault(name.rpartition(".")[2], []).append(name)
        for name in sorted(each for each in self.metrics if each.startswith("val/")):
            self._short.setdefault(name.removeprefix("val/"), []).append(name)

    def find(self, text: str) -> Name:
        """What ``text`` means. Raises Unknown."""
        fact = _ALSO.get(text.lower(), text.lower())
        if fact in FACTS:
            return Name(fact, FACTS[fact])
        if text in self.settings or self.is_metric(text):
            return Name(text, "any")
        meant = self._short.get(text, [])
        if len(meant) == 1:
            return Name(meant[0], "any")
        if meant:
            raise Unknown(f"this may be {' or '.join(meant[:_MOST_SHOWN])}; write one of them.")
        near = self.nearest(text)
        raise Unknown(f"no setting and no metric is called so{f'; did you mean {near}?' if near else '.'}")

    def find_metric(self, text: str) -> str:
        """The metric that ``text`` means, "val/accuracy" by "accuracy". Raises Unknown."""
        for name in (text, f"val/{text}"):
            if self.is_metric(name):
                return name
        known = [*self.metrics, *(name.removeprefix("val/") for name in self.metrics if name.startswith("val/"))]
        near = difflib.get_close_matches(text, known, n=1, cutoff=0.6)
        raise Unknown(f"no metric is called so{f'; did you mean {near[0]}?' if near else '.'}")

    def is_metric(self, name: str) -> bool:
        """Whether runs can have measured it, "val/accuracy"."""
        return name in self.metrics or (name.partition("/")[0] in _PARTS and "/" in name and is_known(name))

    def nearest(self, text: str) -> str:
        """The name that is most like ``text``; "" where none is."""
        known = [*FACTS, *_ALSO, *self._short, *sorted(self.settings | self.metrics)]
        return next(iter(difflib.get_close_matches(text, known, n=1, cutoff=0.6)), "")

    def begin_with(self, text: str) -> list[str]:
        """All names for a person to choose from of which a part begins with ``text``: those that begin with it first."""
        start = text.lower()
        every = [
            *FACTS,
            *sorted(self.measured),
            *(best_key(name) for name in sorted(self.measured)),
            *sorted(self.settings),
        ]
        first = sorted((name for name in every if name.lower().startswith(start)), key=len)
        parts = [
            name for name in every if any(part.startswith(start) for part in name.lower().replace("/", ".").split("."))
        ]
        return list(dict.fromkeys([*first, *parts]))


@cache
def collect_names() -> Names:
    """What every configuration and every metric of ours allows."""
    settings = {name for name in RunConfig.model_fields if name not in SECTIONS}
    for section in SECTIONS:
        for kind in alternatives(section).values():
            settings |= {f"{section}.{name}" for name in kind.model_fields}
    return Names(settings - {"name"}, {f"{part}/{each.name}" for part in ("train", "val") for each in METRICS})


def best_key(name: str) -> str:
    """How the best value of the metric ``name`` is called."""
    return f"best({name})"


def is_maximized(name: str) -> bool:
    """Whether the greatest value of the metric is the best: of one that we do not know, unless it calls itself a loss or error."""
    if is_known(name):
        return metric(name).maximize
    return not name.rpartition("/")[2].lower().endswith(("loss", "error"))


def is_measured(key: str) -> bool:
    """Whether ``key`` calls a metric, its newest value or its best, and no setting."""
    return metric_of(key)[0].partition("/")[0] in _PARTS and "/" in key


def metric_of(key: str) -> tuple[str, bool]:
    """The metric that ``key`` is about, and whether its best value is meant."""
    best = key.startswith("best(") and key.endswith(")")
    return key[5:-1] if best else key, best
