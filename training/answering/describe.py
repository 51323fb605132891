"""What a model takes and answers, for a person who is about to ask it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from training.answering.model import UsableModel
from training.protocol.model_answers import InputColumn, ModelDescription

_TAKES = {"image": "an image", "vector": "a row", "list": "the rows of a query", "tokens": "a text"}
_PROMPTS = ("The ", "the ")
_GIVES = {
    "class": "its class",
    "labels": "its labels",
    "values": "a value",
    "mask": "the class of each pixel",
    "tokens": "how it goes on",
    "ranks": "their order",
    "tasks": "several targets",
    "embedding": "an embedding",
}


def describe_model(model: UsableModel) -> ModelDescription:
    """``model`` in words and numbers."""
    record, source = model.record, model.record.source
    title = (
        f"{source.run}, exported from {source.checkpoint}" if model.is_export else f"{source.run}, {source.checkpoint}"
    )
    plane = record.input.layout == "vector" and record.input.shape == (2,) and record.output.kind == "class"
    columns, cells = _describe_columns(model), record.input.cells
    return ModelDescription(
        path=str(model.path),
        title=title,
        summary=f"Takes {_TAKES[record.input.layout]} and tells {_GIVES[record.output.kind]}; trained for {source.step:,} steps.",
        layout=record.input.layout,
        kind=record.output.kind,
        shape=record.input.shape,
        classes=record.classes if record.output.kind != "tokens" else (),
        outputs=model.outputs,
        threshold=record.output.threshold,
        columns=columns,
        prompt=_find_prompt(model) if record.output.kind == "tokens" else "",
        is_export=model.is_export,
        thousands=cells.thousands if cells is not None else "",
        decimal=cells.decimal if cells is not None else ".",
        plane=plane and all(column.categories is None for column in columns),
    )


def _find_prompt(model: UsableModel) -> str:
    """A beginning that the vocabulary holds."""
    known = model.vocabulary
    if known.kind != "characters":
        return _PROMPTS[0]
    letters = set(known.names[1:])
    return next((prompt for prompt in _PROMPTS if letters.issuperset(prompt)), known.names[1])


def _describe_columns(model: UsableModel) -> tuple[InputColumn, ...]:
    """Those that a row gives: a feature that marks gaps follows by itself."""
    stats = model.record.input.normalisation
    columns: dict[str, InputColumn] = {}
    for place, feature in enumerate(model.record.input.features):
        derived = feature.derived
        if derived is not None:  # several features come of one date
            first, last = (_write_moment(end, derived.form) for end in (derived.low, derived.high))
            holds: Literal["date", "text"] = "text" if derived.part == "hash" else "date"
            columns[derived.column] = InputColumn(
                name=derived.column, holds=holds, first=first, last=last, form=derived.form
            )
        elif feature.marks is not None:
            continue
        elif feature.categories is not None or stats is None:
            columns[feature.name] = InputColumn(
                name=feature.name,
                categories=feature.categories,
                holds="number" if feature.categories is None else "category",
            )
        else:
            mean, std = stats.mean[place], stats.std[place]
            low, high = feature.range or (None, None)
            columns[feature.name] = InputColumn(name=feature.name, low=low, high=high, middle=mean, std=std)
    return tuple(columns.values())


def _write_moment(text: str, form: str) -> str:
    """A moment in ISO 8601 as the training table writes it; "" of none."""
    if not text:
        return ""
    moment = datetime.fromisoformat(text)
    return moment.strftime(form) if form else moment.isoformat(" ").removesuffix(" 00:00:00")
