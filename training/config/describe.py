"""The settings of a section as plain records, for forms and printed help."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from training.config.field_spec import Editor, FieldSpec
from training.config.fields import Section

_TERMS = {
    "rgb": "RGB", "grey": "Grayscale", "bpe": "BPE", "cpu": "CPU", "gpu": "GPU", "imagenet": "ImageNet",
    "fp32": "FP32", "tf32": "TF32", "bf16": "BF16 (AMP)", "fp16": "FP16 (AMP)",
    "batch": "BatchNorm", "group": "GroupNorm", "layer": "LayerNorm", "rms": "RMSNorm", "rotary": "RoPE",
    "relu": "ReLU", "gelu": "GELU", "silu": "SiLU", "relu_squared": "ReLU²", "cos": "Cosine", "sqrt": "1 - sqrt",
    "cross_entropy": "Cross-entropy", "bce_with_logits": "Binary cross-entropy", "mse": "MSE", "l1": "L1",
    "dice_cross_entropy": "Dice + cross-entropy", "dice_bce": "Dice + binary cross-entropy",
    "class": "Classification", "labels": "Multi-label", "values": "Regression", "mask": "Segmentation",
    "tasks": "Multi-task",
    "rand_augment": "RandAugment", "trivial_augment_wide": "TrivialAugmentWide",
    "utf-8": "UTF-8", "utf-16": "UTF-16", "cp1252": "CP1252", "gb18030": "GB18030", "shift_jis": "Shift JIS",
    "euc-kr": "EUC-KR", "koi8-r": "KOI8-R",
}  # fmt: skip
"""Choices that the field writes otherwise than with a capital letter."""


_DURATION = int | str
"""What ``fields.Duration`` is to pydantic."""


def label_choice(choice: str, labels: Mapping[str, str]) -> str:
    """How a form shows a choice: by ``labels``, by the field's spelling, or as it is with a capital letter."""
    return labels.get(choice) or _TERMS.get(choice) or choice[:1].upper() + choice[1:].replace("_", " ")


@cache
def describe(section: type[Section]) -> tuple[FieldSpec, ...]:
    """The settings of ``section`` in the order they are declared, inherited ones after its own, but ``leading`` ones first, and
    before all the path without which there is nothing to set; ``kind`` left out."""
    inherited = {name for base in section.__mro__[1:] if issubclass(base, Section) for name in base.model_fields}
    names = [name for name in section.model_fields if name != "kind"]
    own = [name for name in names if name not in inherited]
    found = [_spec(name, section.model_fields[name]) for name in own + [name for name in names if name in inherited]]
    return tuple(sorted(found, key=lambda spec: (not (spec.path and spec.required), spec.name not in section.leading)))


def _spec(name: str, info: FieldInfo) -> FieldSpec:
    extra: dict[str, Any] = dict(info.json_schema_extra) if isinstance(info.json_schema_extra, dict) else {}
    annotation, optional, metadata = _without_none(info.annotation)
    bounds = {
        key: getattr(item, key)
        for item in (*metadata, *info.metadata)
        for key in ("gt", "ge", "lt", "le")
        if hasattr(item, key)
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
        item = _without_none(get_args(annotation)[0])[0]
        editor, whole = "names" if item is str else "numbers", item is int
        if item == _DURATION:
            editor = "durations"
    elif annotation == _DURATION:
        editor = "duration"
    else:
        editor = {bool: "bool", int: "int", float: "float"}.get(annotation, "text")  # type: ignore[assignment]
    labels = extra.pop("labels", {})
    required = info.is_required()
    return FieldSpec(
        name=name,
        title=info.title or name,
        help=info.description or "",
        editor=editor,
        default=None if required else info.get_default(call_default_factory=False),
        required=required,
        optional=optional,
        choices=choices,
        labels={choice: label_choice(choice, labels) for choice in choices},
        minimum=bounds.get("ge", bounds.get("gt")),
        maximum=bounds.get("le", bounds.get("lt")),
        exclusive_minimum="gt" in bounds,
        exclusive_maximum="lt" in bounds,
        whole=whole,
        suggestions=tuple(extra.pop("suggestions", ())),
        **extra,
    )


def _without_none(annotation: Any) -> tuple[Any, bool, list[Any]]:
    """The type itself, whether None may stand there, too, and the bounds that are annotated inside."""
    metadata: list[Any] = []
    optional = False
    if get_origin(annotation) in (UnionType, Union):
        parts = [part for part in get_args(annotation) if part is not NoneType]
        if len(parts) == 1:
            annotation, optional = parts[0], True
    if get_origin(annotation) is Annotated:
        annotation, *found = get_args(annotation)
        metadata = [item for each in found for item in (each.metadata if isinstance(each, FieldInfo) else [each])]
    return annotation, optional, metadata
