"""``Section`` and ``setting``: how one setting of a run is declared."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

if TYPE_CHECKING:
    from training.config.describe import FieldSpec

PathKind = Literal["file", "folder", "any"]


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


class Section(BaseModel):
    """Base of every section: frozen, strict about types, and closed to unknown keys."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, validate_default=True, defer_build=True
    )

    @model_validator(mode="before")
    @classmethod
    def _empty_text_is_unset(cls, data: Any) -> Any:
        """TOML has no null: an optional setting is emptied by writing ""."""
        if not isinstance(data, dict) or "" not in data.values():
            return data
        optional = {name for name, info in cls.model_fields.items() if NoneType in get_args(info.annotation)}
        return {key: None if value == "" and key in optional else value for key, value in data.items()}

    @classmethod
    def rows(cls, name: str, values: Mapping[str, Any]) -> list[FieldSpec]:
        """The settings inside the table ``name``, which depend on the section's other ``values``: as "name.key" each."""
        return []


def setting(
    default: Any = ...,
    *,
    title: str,
    help: str,  # the word the forms show; shadowing the builtin here is harmless
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
    **bounds: Any,
) -> Any:
    """Declare one setting.

    ``affects_result`` is false for settings that change neither weights nor metrics (where batches are prepared, how
    often to save): a run may be resumed with another value of those and stays the same run to the bit.
    ``group`` is the heading under which a form puts it among the advanced ones.
    ``placeholder`` is what an optional setting left empty means. ``columns`` says that it names columns of the dataset's
    table, one or several; ``mostly_one`` that the form offers one until several are asked for. ``consent`` names the setting with a file of code: this one is the digest that the person agreed to
    run. ``bounds`` are pydantic's ``gt, ge, lt, le``,
    ``min_length``, ``max_length``, ``pattern``, ``strict``.
    """
    extra: dict[str, Any] = {"advanced": advanced, "affects_result": affects_result}
    for key, value in (
        ("unit", unit),
        ("path", path),
        ("placeholder", placeholder),
        ("consent", consent),
        ("group", group),
    ):
        if value:
            extra[key] = value
    for key, on in (("log_scale", log_scale), ("columns", columns), ("mostly_one", mostly_one)):
        if on:
            extra[key] = True
    if suggestions:
        extra["suggestions"] = list(suggestions)
    return Field(default, title=title, description=help, json_schema_extra=extra, **bounds)
