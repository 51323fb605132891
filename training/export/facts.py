"""``model.json``: all that is needed to use an exported model elsewhere."""

from __future__ import annotations

import json
import re
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Literal

import torch

import training
from training.config.files import config_data
from training.export.bundle import ExportBundle
from training.export.choices import Settled
from training.export.model_json import (
    FORMAT,
    Cells,
    DerivedFrom,
    ExportedFile,
    Feature,
    GraphFacts,
    Input,
    InputNormalization,
    ModelJson,
    Output,
    Resizing,
    SourceFacts,
    Spread,
    TaskOutput,
    TensorFacts,
    Versions,
    WeightsFacts,
)
from training.export.place import TOKENIZER
from training.facts import Layout, TableForm, Target, place_tasks
from training.objectives import Objective
from training.runs.export_consent import FACTS
from training.runs.records.manifest import digest
from training.statistics.logits import find_cutoff, squash
from training.verify.kept import NAME, PROOF

VERSION = 1


def write_facts(bundle: ExportBundle, path: Path, kind: str, settled: Settled, graph: GraphFacts | None = None) -> None:
    """Describe the exported file ``path`` (of format ``kind``) in a ``model.json`` beside it, as it was ``settled``."""
    file = ExportedFile(name=path.name, format=kind, bytes=path.stat().st_size, sha256=digest(path))
    names = {each.name for each in path.parent.iterdir()} - {FACTS} | {NAME, PROOF}
    record = describe_model(bundle, file, tuple(sorted(names)))
    changed: dict[str, object] = {"output": apply_choices(record.output, settled)}
    if graph is not None:
        changed["graph"] = graph
    record = record.model_copy(update=changed)
    text = json.dumps(record.model_dump(mode="json", exclude_unset=True), indent=1, ensure_ascii=False)
    text = re.sub(r"\[[-\d\s.,e+]+\]", lambda numbers: " ".join(numbers[0].split()), text)  # (1, 28, 28) is one line
    (path.parent / FACTS).write_text(text + "\n", encoding="utf-8")


def describe_model(bundle: ExportBundle, file: ExportedFile, files: tuple[str, ...]) -> ModelJson:
    """All that is needed to use ``file``, which holds the model of ``bundle`` and lies among ``files``."""
    done_by: Literal["caller", "model"] = "caller" if file.format == "safetensors" else "model"
    parameters = sum(parameter.numel() for parameter in bundle.model.parameters())
    return ModelJson(
        format=FORMAT,
        version=VERSION,
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        file=file,
        files=files,
        task=bundle.config.objective.kind,
        classes=bundle.facts.names,
        input=_describe_input(bundle, done_by),
        output=_describe_output(bundle, done_by),
        architecture={**bundle.config.model.model_dump(mode="json"), "parameters": parameters},
        weights=_describe_weights(bundle),
        source=_describe_source(bundle),
        versions=Versions(
            trained_with={**bundle.manifest.versions},
            exported_with={"trainwright": training.__version__, "torch": torch.__version__},
        ),
    )


def _describe_output(bundle: ExportBundle, done_by: str) -> Output:
    facts, objective = bundle.facts, bundle.objective
    count, spread = objective.outputs, objective.spread
    sizes: dict[Target, tuple[int, ...]] = {
        "mask": (count, *facts.shape[1:]),
        "tokens": (*facts.shape, count),
        "ranks": (facts.shape[0],),
    }
    makes = {
        "softmax": "; softmax makes them probabilities",
        "sigmoid": "; the logistic function makes each a probability",
    }
    if objective.is_embedding:
        return _describe_embedding(objective, done_by)
    return Output(
        kind=facts.target,
        shape=("batch", *sizes.get(facts.target, (count,))),
        dtype="float32",
        meaning=_MEANINGS[facts.target] + makes.get(objective.probabilities, ""),
        probabilities=objective.probabilities,
        threshold=getattr(bundle.config.objective, "threshold", None),
        spread=None if spread is None or done_by == "model" else Spread(mean=spread[0], std=spread[1]),
        unit_length=False,
        tasks=tuple(TaskOutput(**asdict(place)) for place in place_tasks(facts)) if facts.target == "tasks" else (),
    )


def apply_choices(output: Output, settled: Settled) -> Output:
    """The output of classes or labels as it was ``settled``. Thresholds are of the model's own probabilities; where scores are divided
    by a temperature they move with them, so that every answer stays what it is."""
    changed: dict[str, object] = {}
    own = settled.thresholds or (() if output.threshold is None else (output.threshold,))
    if settled.temperature is not None:
        first, _, rest = output.meaning.partition("; ")
        changed = {"temperature": settled.temperature, "meaning": f"{first}; divided by temperature, {rest}"}
    divisor = settled.temperature or 1.0
    moved = tuple(each if divisor == 1.0 else float(squash(find_cutoff(each) / divisor)) for each in own)
    if len(moved) == 1:
        changed["threshold"] = moved[0]
    elif moved:
        changed["thresholds"] = moved
    return output.model_copy(update=changed)


def _describe_embedding(objective: Objective, done_by: str) -> Output:
    unit = objective.unit_length
    compared = (
        "their cosine similarity, which is the sum of the products of two" if unit else "the Euclidean distance of two"
    )
    length = " of length 1" * unit
    return Output(
        kind="embedding",
        shape=("batch", objective.outputs),
        dtype="float32",
        meaning=f"an embedding{length}; how alike two samples are is told by {compared}",
        probabilities="none",
        threshold=None,
        spread=None,
        unit_length=unit and done_by == "caller",
        tasks=(),
    )


_MEANINGS: dict[Target, str] = {
    "class": "one score (logit) for each class, in the order of classes (of two classes one for the second alone, where "
    "there is one score)",
    "labels": "one score (logit) for each label, in the order of classes",
    "values": "each value, in the order of classes and in its own unit",
    "mask": "for each pixel one score (logit) for each class, in the order of classes (of two classes one for the second "
    "alone, where there is one score)",
    "tokens": "for each place one score (logit) for each token that may follow, in the order of classes",
    "tasks": "for each target of tasks the columns from first to before last: of a number its value in its own unit, of two "
    "classes one score (logit) for the second, of more one for each",
    "ranks": "one score for each item: the higher, the better it suits the query",
}


_AXES: dict[Layout, tuple[str, ...]] = {
    "image": ("channel", "row", "column"),
    "vector": ("feature",),
    "list": ("item", "feature"),
    "tokens": ("place",),
}


def _describe_input(bundle: ExportBundle, done_by: Literal["caller", "model"]) -> Input:
    facts, stats = bundle.facts, bundle.normalization
    make = partial(Input, layout=facts.layout, shape=facts.shape, axes=("batch", *_AXES[facts.layout]))
    if facts.layout == "tokens":
        make = partial(make, dtype="int64", meaning="numbers of tokens in classes", normalisation=None)
        return make(tokenizer=TOKENIZER) if facts.vocabulary else make()
    formula = "(value - mean) / std, for each feature" + "; 0 where a value is missing (NaN)" * stats.missing
    is_image = facts.layout == "image"
    normalization = InputNormalization(
        formula="(pixel / 255 - mean) / std, for each channel" if is_image else formula,
        divisor=255.0 if is_image else 1.0,
        done_by=done_by,
        mean=stats.mean,
        std=stats.std,
        missing=stats.missing,
    )
    make = partial(make, normalisation=normalization)
    if not is_image:
        make = partial(make, dtype="float32", features=_describe_features(bundle))
        marks = getattr(bundle.config.dataset, "missing_marks", None)
        if marks is None:
            return make()
        form = facts.table or TableForm(())
        return make(cells=Cells(missing=marks, thousands=form.thousands, decimal=form.decimal))
    channels, height, width = facts.shape
    rule = (
        "turn upright (EXIF), scale with antialiased bilinear filtering until the shorter side fits, cut the longer side "
        "evenly at both ends; an image of this very size stays as it is"
    )
    return make(
        dtype="uint8",
        value_range=(0, 255),
        color_order={3: "RGB", 1: "grayscale"}.get(channels, f"{channels} channels"),
        resizing=Resizing(height=height, width=width, rule=rule),
    )


def _describe_features(bundle: ExportBundle) -> tuple[Feature, ...]:
    facts, marking = bundle.facts, getattr(bundle.config.dataset, "missing_indicator", False)
    listed = []
    for place, name in enumerate(facts.columns):
        marks = facts.marked_column(place) if marking else None
        coded = bool(facts.categories) and facts.categories[place] > 0
        part = facts.derivation(place)
        if part is not None and part.part == "hash":
            coded = False
        span = facts.ranges[place] if facts.ranges else None
        feature = Feature(name=name, categories=facts.codes[place] if coded else None, marks=marks, range=span)
        if part is not None and marks is None:
            feature = feature.model_copy(update={"derived": DerivedFrom(**asdict(part))})
        listed.append(feature)
    return tuple(listed)


def _describe_weights(bundle: ExportBundle) -> WeightsFacts:
    swa = bundle.config.loop.swa_start is not None
    average = (
        "equal average (SWA) of the weights over the last stretch of training"
        if swa
        else "moving average (EMA) of the weights over training"
    )
    tensors = (
        TensorFacts(name=name, shape=tuple(tensor.shape), dtype=str(tensor.dtype).removeprefix("torch."))
        for name, tensor in bundle.model.state_dict().items()
    )
    which = average if bundle.averaged else "weights at this step"
    return WeightsFacts(which=which, averaged=bundle.averaged, tensors=tuple(tensors))


def _describe_source(bundle: ExportBundle) -> SourceFacts:
    manifest = bundle.manifest
    return SourceFacts(
        run=bundle.run.id,
        checkpoint=bundle.checkpoint.name,
        step=manifest.step,
        epoch=manifest.epoch,
        metrics=manifest.metrics,
        data_fingerprint=manifest.data.fingerprint,
        config=config_data(bundle.config),
    )
