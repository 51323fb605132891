"""Some of the classes of a dataset: which there are, and what is left where ``dataset.classes`` names those to keep."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from training.config.sections.data.classes import chosen_classes
from training.config.sections.data.dataset_section import DatasetSection
from training.core.splits import keep_classes
from training.data.source import ClassCounts, Source
from training.errors import InputError, pluralize
from training.facts import Target
from training.system.untrusted import escape_unprintable

_MOST_NAMED = 12


class ClassesRefused(InputError):
    """The classes that were asked for cannot be kept; ``choices`` are those that the data has, as in ``Source.class_choices``."""

    def __init__(self, choices: ClassCounts, message: str, advice: str, fix: Mapping[str, Any] | None = None) -> None:
        super().__init__(f"dataset.classes: {message}", advice, fix)
        self.choices = choices


@dataclass(frozen=True, eq=False)
class Choice:
    """What is kept: the ``names`` of the classes in the data's order, the numbers of their samples (int64), the classes of those,
    and the parts that they make; of ``choices`` in all."""

    names: tuple[str, ...]
    samples: Tensor
    targets: Tensor
    parts: dict[str, Tensor]
    choices: ClassCounts

    @property
    def note(self) -> str:
        """What to say of it."""
        left = sum(count for _, count in self.choices) - len(self.samples)
        return f"{len(self.names):,} of {len(self.choices):,} classes kept; {pluralize(left, 'sample')} of the others left out"

    def digest(self, fingerprint: str) -> str:
        """That of the samples kept of data with this ``fingerprint``; "" of data that was not looked at."""
        return hashlib.sha256(repr((fingerprint, self.names)).encode()).hexdigest() if fingerprint else ""


def choose_classes(
    dataset: DatasetSection, names: Sequence[str], targets: Tensor, parts: dict[str, Tensor]
) -> Choice | None:
    """What ``dataset`` keeps of samples of the classes ``targets`` (int64, (N,)), called ``names``; None: all. Raises ClassesRefused for
    a class that is not there, that no training sample has, or where a part would be empty."""
    choices = count_classes(names, targets)
    kept = find_kept(dataset, choices)
    if len(kept) == len(names):
        return None
    samples, chosen, left = keep_classes(targets, kept, parts)
    choice = Choice(tuple(names[number] for number in kept), samples, chosen, left, choices)
    trained = torch.bincount(chosen[left["train"]], minlength=len(kept)).tolist()
    absent = [name for name, count in zip(choice.names, trained, strict=True) if not count]
    if absent:
        raise ClassesRefused(choices, f"no training sample is of the class {_show(absent[:1])}.", "Take it out.")
    require_parts(dataset, {part: len(numbers) for part, numbers in left.items()}, choices)
    return choice


def count_classes(names: Sequence[str], targets: Tensor) -> ClassCounts:
    """Each class with the number of its samples among ``targets`` (int64, (N,))."""
    return tuple(zip(names, torch.bincount(targets, minlength=len(names)).tolist(), strict=True))


def find_kept(dataset: DatasetSection, choices: ClassCounts) -> list[int]:
    """The places among ``choices`` of the classes that ``dataset`` keeps, in that order. Raises ClassesRefused for one that is
    not there."""
    wanted = chosen_classes(dataset)
    known = {name: None for name, _ in choices}  # in their order; two may be called alike
    unknown = [name for name in wanted if name not in known]
    if unknown:
        there = [name for name in wanted if name in known]
        fix = {"dataset.classes": there if len(there) > 1 else []}
        what = f"the data has no class {_show(unknown[:1])}; {_list(unknown[0], tuple(known))}."
        raise ClassesRefused(choices, what, "Name two of its classes at least, or none for all.", fix)
    kept = frozenset(wanted or known)
    return [number for number, (name, _) in enumerate(choices) if name in kept]


def require_parts(dataset: DatasetSection, parts: Mapping[str, int], choices: ClassCounts) -> None:
    """Raise ClassesRefused where a part that came with the data, of so many samples, has none of the classes that are kept."""
    wanted = getattr(dataset, "validation", "auto")
    for part, count in parts.items():
        if count or (part == "validation" and wanted == "split"):
            continue
        what = f"no sample of the {part} part that came with the data is of a class that is kept."
        if part == "validation":
            fix = {"dataset.validation": "split"}
            advice = "Keep a class that it has, or hold out training samples (dataset.validation = split)."
            raise ClassesRefused(choices, what, advice, fix)
        raise ClassesRefused(choices, what, "Keep a class that it has.")


def require_class_target(dataset: DatasetSection, target: Target) -> None:
    """Raise InputError where classes are to be kept of data that turned out to have none."""
    if chosen_classes(dataset) and target != "class":
        raise InputError(
            "dataset.classes: the target is no class, so there are none to choose among.",
            "Leave this empty, or set dataset.task to class.",
            {"dataset.classes": []},
        )


def list_choices(dataset: DatasetSection, source: Source) -> ClassCounts:
    """All classes that ``dataset.classes`` may name, with the number of samples of each in all parts; none where nothing is to be
    chosen. The window's check boxes are these."""
    if source.target != "class" or not isinstance(getattr(dataset, "classes", None), tuple):
        return ()
    return source.class_choices or count_classes(source.classes, source.targets)


def _show(names: Sequence[str]) -> str:
    return ", ".join(f"'{escape_unprintable(name, 60)}'" for name in names)


def _list(unknown: str, names: Sequence[str]) -> str:
    if len(names) <= _MOST_NAMED:
        return f"it has {_show(names)}"
    nearest = difflib.get_close_matches(unknown, names, n=3, cutoff=0.0)
    return f"the nearest of its {len(names):,} are {_show(nearest)}"
