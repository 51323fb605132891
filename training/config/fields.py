"""``Section`` and ``setting``: how one setting of a run is declared."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from functools import partial
from types import NoneType
from typing import Annotated, Any, ClassVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from training.config.field_spec import FieldSpec, PathKind
from training.core.durations import read_duration
from training.toml_text import Toml

Count = Annotated[int, Field(ge=1)]
SeedNumber = Annotated[int, Field(ge=0, le=2**31 - 1)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
ShareAboveZero = Annotated[float, Field(gt=0.0, le=1.0)]
ShareBelowOne = Annotated[float, Field(ge=0.0, lt=1.0)]
Fraction = Annotated[float, Field(gt=0.0, lt=1.0)]


def split_names(text: Any) -> Any:
    """``a, b`` as a list of names, one that holds a comma in double quotes; what is no text as it is."""
    if not isinstance(text, str):
        return text
    try:
        row = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error:
        return text
    return [name.strip() for name in row if name.strip()]


def join_names(names: list[str]) -> str:
    """Undo ``split_names``."""
    return ", ".join('"' + name.replace('"', '""') + '"' if set(name) & set('",') else name for name in names)


Names = Annotated[tuple[Annotated[str, Field(min_length=1, max_length=1000)], ...], BeforeValidator(split_names)]
"""Several names; one text with commas will do."""


def _check_duration(value: Any, least: int) -> Any:
    """A duration as it is written; a text that is a number alone is one of steps."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise PydanticCustomError("duration", 'must be a number of steps or a text like "3 epochs" or "5 %"')
    duration = value.strip() if isinstance(value, str) else value
    if isinstance(duration, str) and re.fullmatch("[0-9]{1,9}", duration):
        duration = int(duration)
    try:
        number, _ = read_duration(duration)
    except ValueError as error:
        raise PydanticCustomError("duration", "{why}", {"why": str(error)}) from error
    if number < 0 or (number == 0 and least):
        raise PydanticCustomError("duration", "must be more than 0" if least else "must be 0 or more")
    return duration


Duration = Annotated[int | str, BeforeValidator(partial(_check_duration, least=1))]
"""A stretch of the run, as it was written: 300 (steps), "3 epochs" or "5 %" of the run. ``core.durations`` counts its steps."""
DurationOrNone = Annotated[int | str, BeforeValidator(partial(_check_duration, least=0))]
"""One that may be 0."""


class Section(BaseModel):
    """Base of every section: frozen, strict about types, and closed to unknown keys."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, validate_default=True, defer_build=True
    )

    leading: ClassVar[frozenset[str]] = frozenset()
    """Inherited settings that a form shows before the section's own."""

    @model_validator(mode="before")
    @classmethod
    def _empty_text_is_unset(cls, data: Any) -> Any:
        """TOML has no null: an optional setting is emptied by writing ""."""
        if not isinstance(data, dict) or "" not in data.values():
            return data
        optional = {name for name, info in cls.model_fields.items() if NoneType in get_args(info.annotation)}
        return {key: None if value == "" and key in optional else value for key, value in data.items()}

    @classmethod
    def rows(cls, name: str, values: Mapping[str, Toml]) -> list[FieldSpec]:
        """The settings inside the table ``name``, which depend on the section's other ``values``: as "name.key" each."""
        return []


def setting(
    default: Any = ...,
    title: str = "",
    help: str = "",  # the word the forms show; shadowing the builtin here is harmless
    *,
    also: str = "",
    labels: Mapping[str, str] | None = None,
    unit: str = "",
    advanced: bool = False,
    group: str = "",
    affects_result: bool = True,
    path: PathKind | None = None,
    placeholder: str = "",
    log_scale: bool = False,
    suggestions: tuple[str, ...] = (),
    consent: str = "",
    columns: bool = False,
    mostly_one: bool = False,
    classes: bool = False,
    **bounds: Any,
) -> Any:
    """Declare one setting. What several sections have alike is declared once, inside ``Annotated``; a section then gives the
    default alone, or ``setting(default, help=...)`` with what differs.

    ``title`` is the term of torch, torchvision or the papers, and ``help`` names their parameter; ``also`` holds further words
    by which it is found. ``labels`` says how a form shows choices that ``label_choice`` cannot guess.
    ``affects_result`` is false for settings that change neither weights nor metrics (where batches are prepared, how
    often to save): a run may be resumed with another value of those and stays the same run to the bit.
    ``group`` is the heading under which a form puts it among the advanced ones.
    ``placeholder`` is what an optional setting left empty means. ``columns`` says that it names columns of the dataset's
    table, one or several; ``mostly_one`` that the form offers one until several are asked for; ``classes`` that it names classes
    of the dataset. ``consent`` names the setting with a file of code: this one is the digest that the person agreed to run.
    ``bounds`` are pydantic's ``gt, ge, lt, le``, ``min_length``, ``max_length``, ``pattern``, ``strict``.
    """
    extra: dict[str, Any] = {
        "also": also,
        "labels": dict(labels or {}),
        "unit": unit,
        "advanced": advanced,
        "group": group,
        "path": path,
        "placeholder": placeholder,
        "log_scale": log_scale,
        "suggestions": list(suggestions),
        "consent": consent,
        "columns": columns,
        "mostly_one": mostly_one,
        "classes": classes,
    }
    extra = {key: value for key, value in extra.items() if value}
    words = {key: text for key, text in (("title", title), ("description", help)) if text}
    if not affects_result:
        extra["affects_result"] = False
    field: Any = Field(default, json_schema_extra=extra, **bounds, **words)  # type: ignore[call-overload]
    return field


advanced = partial(setting, advanced=True)
"""Declare one that forms fold away."""

Folder = Annotated[str, setting(title="Folder", path="folder", min_length=1)]
File = Annotated[str, setting(title="File", path="file", min_length=1)]
Columns = Annotated[Names, setting(columns=True, strict=False, max_length=100_000)]
"""Of the dataset's table."""
