"""The setting that chooses some of the classes of a dataset, which several kinds of data have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BeforeValidator

from training.config.fields import Names, setting
from training.config.sections.data.dataset_section import DatasetSection
from training.errors import Problem


def _write_numbers(value: Any) -> Any:
    """Classes that are called 3 and 7 may be written as numbers."""
    if not isinstance(value, list | tuple):
        return value
    return [str(name) if isinstance(name, int) and not isinstance(name, bool) else name for name in value]


NO_CLASS = ("",)
"""What a form holds where all check boxes are off: it is refused, while nothing at all means all classes."""

Classes = Annotated[
    Names,
    BeforeValidator(_write_numbers),
    setting(
        title="Classes",
        help="Train on samples of these classes alone, two at least; the others are left out of all parts. Empty: all classes.",
        also="subset include exclude class filter",
        placeholder="all",
        classes=True,
        strict=False,
        max_length=100_000,
    ),
]
"""Names of those to keep, in any order: the data's own order numbers them. None: all. Which there are only the data tells, see
``training.data.class_choice``."""


def chosen_classes(dataset: DatasetSection) -> tuple[str, ...]:
    """Names of those to keep; none: all."""
    names = getattr(dataset, "classes", ())
    return names if isinstance(names, tuple) else ()  # made points have a number of them


def class_problems(dataset: DatasetSection) -> Iterator[Problem]:
    """Of a choice of classes that no data could fulfill."""
    names = chosen_classes(dataset)
    if not names:
        return
    if "class" not in dataset.possible_targets:
        what = "chooses among classes, but the task is to predict something else. Leave this empty, or change the task."
        yield Problem("dataset.classes", what, {"dataset.classes": []})
    elif len(once := tuple(dict.fromkeys(names))) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        yield Problem(
            "dataset.classes", f"names {twice!r} twice; take one of them out.", {"dataset.classes": list(once)}
        )
    elif len(names) < 2:
        what = f"keeps one class only, {names[0]!r}; name at least two, or leave this empty for all."
        yield Problem("dataset.classes", what, {"dataset.classes": []})
