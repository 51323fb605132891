"""What a form and the help know of one setting."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

PathKind = Literal["file", "folder", "any"]
Editor = Literal[
    "bool", "int", "float", "choice", "text", "numbers", "names", "path", "table", "consent", "duration", "durations"
]


@dataclass(frozen=True)
class FieldSpec:
    """One setting. ``minimum``/``maximum`` are the bounds; ``exclusive_*`` says the bound itself is not allowed."""

    name: str
    title: str
    help: str
    editor: Editor
    default: Any  # None also when required
    required: bool
    optional: bool  # may be left empty
    advanced: bool = False
    group: str = ""  # the heading above it
    also: str = ""  # further words to find it by
    unit: str = ""
    placeholder: str = ""
    choices: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)  # of ``choices``, for people
    suggestions: tuple[str, ...] = ()
    columns: bool = False  # names one or several of the dataset's columns
    mostly_one: bool = False  # of "names": several are the exception
    classes: bool = False  # names several of the dataset's classes
    path: PathKind | None = None
    consent: str = ""  # to running the file that this other setting names
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    log_scale: bool = False
    affects_result: bool = True
    whole: bool = False  # of "numbers": whether each is an int

    @property
    def of_the_data(self) -> bool:
        """Whether it names what this very data has, and other data has not."""
        return self.columns or self.classes

    def label(self, value: object) -> str:
        """``value`` as people read it, where it is one of the choices."""
        return self.labels.get(str(value), str(value))


def plain(value: Any) -> Any:
    """``value`` as JSON would give it back: lists for tuples."""
    return [plain(item) for item in value] if isinstance(value, tuple | list) else value
