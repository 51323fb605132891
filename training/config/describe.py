"""The settings of a section as plain records, for forms and printed help."""

from __future__ import annotations

from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from training.config.fields import PathKind, Section

Editor = Literal["bool", "int", "float", "choice", "text", "numbers", "names", "path", "table", "consent"]


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
    advanced: bool
    group: str = ""  # the heading above it
    unit: str = ""
    placeholder: str = ""
    choices: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    columns: bool = False  # names one or several of the dataset's columns
    mostly_one: bool = False  # of "names": several are the exception
    path: PathKind | None = None
    consent: str = ""  # to running the file that this other setting names
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    log_scale: bool = False
    affects_result: bool = True
    whole: bool = False  # of "numbers": whether each is an int


def describe(section: type[Section]) -> list[FieldSpec]:
    """The settings of ``section`` in the order they are declared, inherited ones after its own, and before all the path
    without which there is nothing to set; ``kind`` left out."""
    inherited = {name for base in section.__mro__[1:] if issubclass(base, Section) for name in base.model_fields}
    names = [name for name in section.model_fields if name != "kind"]
    own = [name for name in names if name not in inherited]
    found = [_spec(name, section.model_fields[name]) for name in own + [name for name in names if name in inherited]]
    return sorted(found, key=lambda spec: not (spec.path and spec.required))


def _spec(name: str, info: FieldInfo) -> FieldSpec:
    extra: dict[str, Any] = dict(info.json_schema_extra) if isinstance(info.json_schema_extra, dict) else {}
    annotation, optional = _without_none(info.annotation)
    bounds = {
        key: getattr(item, key) for item in info.metadata for key in ("gt", "ge", "lt", "le") if hasattr(item, key)
    }
    choices: tuple[str, ...] = ()
    whole = False
    origin = get_origin(annotation)
    if extra.get("path"):
        editor: Editor = "path"
    elif extra.get("consent"):
        editor = "consent"
    elif origin is dict:
        editor = "table"  # its rows are known from the values: ``Section.rows``
    elif origin is Literal:
        editor, choices = "choice", tuple(str(choice) for choice in get_args(annotation))
    elif origin is tuple:
        item = get_args(annotation)[0]
        editor = "names" if _without_none(item)[0] is str else "numbers"
        whole = _without_none(item)[0] is int
    else:
        editor = {bool: "bool", int: "int", float: "float"}.get(annotation, "text")  # type: ignore[assignment]
    required = info.is_required()
    return FieldSpec(
        name=name,
        title=info.title or name,
        help=info.description or "",
        editor=editor,
        default=None if required else info.get_default(call_default_factory=False),
        required=required,
        optional=optional,
        advanced=bool(extra.get("advanced")),
        group=str(extra.get("group", "")),
        unit=str(extra.get("unit", "")),
        placeholder=str(extra.get("placeholder", "")),
        choices=choices,
        suggestions=tuple(extra.get("suggestions", ())),
        columns=bool(extra.get("columns")),
        mostly_one=bool(extra.get("mostly_one")),
        consent=str(extra.get("consent", "")),
        path=extra.get("path"),
        minimum=bounds.get("ge", bounds.get("gt")),
        maximum=bounds.get("le", bounds.get("lt")),
        exclusive_minimum="gt" in bounds,
        exclusive_maximum="lt" in bounds,
        log_scale=bool(extra.get("log_scale")),
        affects_result=bool(extra.get("affects_result", True)),
        whole=whole,
    )


def _without_none(annotation: Any) -> tuple[Any, bool]:
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (UnionType, Union):
        parts = [part for part in get_args(annotation) if part is not NoneType]
        if len(parts) == 1:
            return parts[0], True
    return annotation, False
