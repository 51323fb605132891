"""A trained model that can be asked: of a checkpoint, or of the folder of an export."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import ValidationError
from torch import nn

from training.checkpoints.load import fill_weights
from training.checkpoints.trained import find_fault
from training.checkpoints.write import AVERAGED
from training.config import RunConfig, parse_config
from training.config.consent import is_agreed
from training.data.normalize import Normalization
from training.data.texts.vocabulary import Vocabulary, vocabulary_of
from training.errors import InputError
from training.export.bundle import load_bundle
from training.export.facts import describe_model
from training.export.model_json import ExportedFile, Feature, ModelJson
from training.export.place import TOKENIZER
from training.export.usage import program, weights
from training.export.usage.facts import ModelFacts
from training.facts import DataFacts, Derivation, TableForm
from training.models import make_model
from training.runs.export_consent import CODE, FACTS
from training.runs.folder import read_json
from training.runs.records.manifest import MANIFEST, WEIGHTS, digest
from training.runs.workspace import find_checkpoint
from training.system.untrusted import escape_unprintable
from training.typed_paths import parse_path

_MOST_FACTS = 64 << 20
_AXES = ("x", "y")
Ask = Callable[[Any], NDArray[np.float32]]


@dataclass(frozen=True)
class UsableModel:
    """``path`` is the checkpoint's folder or the export's; ``facts`` is ``record`` as ``training.export.usage`` reads it; ``logits``
    makes scores float32 (n, ...) of samples (n, *shape) in the dtype that ``facts["input"]`` names. ``network`` is what computes them
    from normalized ones; None where that is no module of Python."""

    path: Path
    record: ModelJson
    facts: ModelFacts
    logits: Ask
    data: DataFacts
    config: RunConfig
    is_export: bool
    network: nn.Module | None = None

    @property
    def kind(self) -> str:
        """What it predicts: a ``Target``, or "embedding"."""
        return self.record.output.kind

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of what it can be asked about: of several targets, else the classes, labels or values."""
        return tuple(each["name"] for each in self.facts["output"]["tasks"]) or self.record.classes

    @cached_property
    def row_facts(self) -> DataFacts:
        """``data`` with a name for each number of a row."""
        features = self.record.input.features
        return self.data if self.data.columns else replace(self.data, columns=tuple(each.name for each in features))

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """What the tokens of a language model mean. Raises InputError for what no training wrote."""
        try:
            return vocabulary_of(self.data)
        except ValueError as error:
            raise InputError(f"{self.path}: its vocabulary is damaged ({error}); choose another model.") from error

    def token_logits(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """(n, vocabulary): for each of the last ``tokens``, as many as it sees, the scores of the one that follows."""
        context = self.data.shape[0]
        seen = np.array(tokens[-context:], np.int64)
        whole = np.zeros(
            context, np.int64
        )  # an exported graph takes no shorter one; what comes later changes nothing before
        whole[: len(seen)] = seen
        takes_any = self.record.file.format == "safetensors"
        return self.logits((seen if takes_any else whole)[np.newaxis])[0, : len(seen)]


def find_model(text: str, workspace: Path) -> tuple[Path, str]:
    """The export or the checkpoint that is meant by a folder, a file of an export, or what means a run; and a sentence where it is
    another one than was asked for. Raises InputError where there is none."""
    path = parse_path(text)
    if (path / FACTS).is_file():
        return path, ""
    if path.is_file() and (path.parent / FACTS).is_file():
        return path.parent, ""
    return find_checkpoint(text, workspace)


def open_model(path: Path) -> UsableModel:
    """Load the model that ``path`` holds, a checkpoint's folder or an export's. Raises InputError, having run nothing, for one that is
    not whole, and for code that nobody agreed to run."""
    path = parse_path(path).absolute()
    return (
        _open_export(path) if (path / FACTS).is_file() and not (path / MANIFEST).is_file() else _open_checkpoint(path)
    )


def _open_checkpoint(path: Path) -> UsableModel:
    bundle = load_bundle(path)
    name = AVERAGED if bundle.averaged else WEIGHTS
    known = bundle.manifest.files[name]
    file = ExportedFile(name=name, format="safetensors", bytes=known.bytes, sha256=known.sha256)
    record = _name_features(describe_model(bundle, file, (name,)), bundle.facts.ranges)
    facts = _as_usage_reads(record)
    ask = partial(_ask_torch, weights.logits, bundle.model, facts)
    return UsableModel(path, record, facts, ask, bundle.facts, bundle.config, False, bundle.model)


def _ask_torch(
    logits: Callable[..., torch.Tensor], model: nn.Module, facts: ModelFacts, samples: Any
) -> NDArray[np.float32]:
    return logits(model, facts, samples).float().numpy()


def _open_export(folder: Path) -> UsableModel:
    shown = escape_unprintable(str(folder / FACTS), 300)
    try:
        record = ModelJson.model_validate(read_json(folder / FACTS, _MOST_FACTS))
        config = parse_config(record.source.config, shown, paths=False)
        data = _read_data(record, folder)
        stats = record.input.normalisation
        normalization = (
            Normalization(stats.mean, stats.std, data.layout, stats.missing)
            if stats is not None
            else Normalization((), (), "tokens")
        )
        fault = find_fault(data, normalization, 1)
    except (ValidationError, TypeError, ValueError, OverflowError) as error:
        fault = escape_unprintable(f"{type(error).__name__}: {error}", 200)
    if fault:
        raise InputError(f"{shown}: is not what an export writes ({fault}); export the model again.")
    file = folder / Path(record.file.name).name
    _require_same(file, record.file)
    record = _name_features(record, ())
    facts = _as_usage_reads(record)
    network = _build_network(file, record, data, config) if record.file.format == "safetensors" else None
    ask = (
        partial(_ask_torch, weights.logits, network, facts) if network is not None else _open_file(file, record, facts)
    )
    return UsableModel(folder, record, facts, ask, data, config, True, network)


def _require_same(file: Path, known: ExportedFile) -> None:
    """Raise InputError unless ``file`` is the one that was exported."""
    shown = escape_unprintable(str(file), 300)
    try:
        same = digest(file) == known.sha256
    except OSError as error:
        raise InputError(f"{shown}: cannot be read ({error.strerror or error}); export the model again.") from error
    if not same:
        raise InputError(f"{shown}: was changed or damaged since it was exported; export the model again.")


def _build_network(file: Path, record: ModelJson, data: DataFacts, config: RunConfig) -> nn.Module:
    model = make_model(config.model, data, _count_outputs(record), config.seed, _code_beside(file))
    fill_weights(file, model, file)
    return model.eval()


def _open_file(file: Path, record: ModelJson, facts: ModelFacts) -> Ask:
    kind = record.file.format
    if kind == "onnx":
        return _open_graph(file, facts)
    if kind == "torch-export":
        return _open_program(file, record, facts)
    raise InputError(
        f"{file}: is of the format {escape_unprintable(kind, 60)}, which cannot be asked here; export safetensors or onnx."
    )


def _open_graph(file: Path, facts: ModelFacts) -> Ask:
    try:
        import onnxruntime

        from training.export.usage import graph
    except (ImportError, OSError) as error:
        why = escape_unprintable(str(error), 200).rstrip(".")
        raise InputError(
            f"{file}: the package onnxruntime, which runs it, cannot be loaded ({why}); install it."
        ) from error
    try:
        session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    except Exception as error:  # its exceptions are no Python ones
        raise InputError(
            f"{file}: cannot be loaded ({escape_unprintable(str(error), 200)}); export the model again."
        ) from error
    return partial(graph.logits, session, facts)


def _open_program(file: Path, record: ModelJson, facts: ModelFacts) -> Ask:
    if not is_agreed(record.file.sha256):
        raise InputError(
            f"{file}: is a program of torch.export, and loading one may run whatever its author put into it.",
            "Add --trust to python -m training predict where you trust its author, or export safetensors or onnx.",
        )
    try:
        model = torch.export.load(file).module()
    except Exception as error:  # broken archives raise anything
        raise InputError(
            f"{file}: cannot be loaded ({escape_unprintable(str(error), 200)}); export the model again."
        ) from error
    return partial(_ask_torch, program.logits, model, facts)


def _code_beside(file: Path) -> Path | None:
    code = file.parent / CODE
    return code if code.is_file() else None


def _count_outputs(record: ModelJson) -> int:
    """How many numbers the network answers for each sample, pixel, token or item."""
    if record.output.kind == "ranks":
        return 1
    count = record.output.shape[1 if record.output.kind != "tokens" else -1]
    return count if isinstance(count, int) else 0


def _read_data(record: ModelJson, folder: Path) -> DataFacts:
    """What a checkpoint would know of the data, as far as a network is built from it and a text is read by it."""
    output, features = record.output, record.input.features
    kind, merges = _read_tokenizer(folder) if record.input.tokenizer else ("", ())
    texts = tuple(feature.categories or () for feature in features)
    coded = tuple(_count_codes(feature) for feature in features)
    named = tuple(feature.name for feature in features)
    spans = tuple(feature.range for feature in features)
    return DataFacts(
        layout=record.input.layout,
        shape=record.input.shape,
        target="class" if output.kind == "embedding" else output.kind,
        names=record.classes,
        columns=named,
        categories=coded if any(coded) else (),
        codes=texts,
        ranges=spans if any(spans) else (),
        vocabulary=kind,
        merges=merges,
        target_classes=tuple(task.classes for task in output.tasks),
        table=_read_form(record),
    )


def _count_codes(feature: Feature) -> int:
    if feature.derived is not None and feature.derived.part == "hash":
        return feature.derived.buckets + 1
    return 0 if feature.categories is None else len(feature.categories) + 1


def _read_form(record: ModelJson) -> TableForm | None:
    """As ``DataFacts.table``."""
    cells, features = record.input.cells, record.input.features
    derived = tuple(
        None if feature.derived is None else Derivation(**feature.derived.model_dump()) for feature in features
    )
    style = ("", ".") if cells is None else (cells.thousands, cells.decimal)
    return TableForm(derived if any(derived) else (), *style) if any(derived) or style != ("", ".") else None


def _read_tokenizer(folder: Path) -> tuple[str, tuple[str, ...]]:
    """The kind of a vocabulary and its rules of byte pairs. Raises ValueError."""
    model = read_json(folder / TOKENIZER, _MOST_FACTS).get("model")
    if not isinstance(model, dict):
        raise ValueError(f"{TOKENIZER} is missing or damaged")
    if model.get("type") == "WordLevel":
        return "characters", ()
    merges = model.get("merges")
    if not isinstance(merges, list):
        raise ValueError(f"{TOKENIZER} has no rules of byte pairs")
    joined = tuple(
        pair if isinstance(pair, str) else " ".join(map(str, pair)) for pair in merges if isinstance(pair, str | list)
    )
    return ("bpe" if joined else "bytes"), joined


def _name_features(record: ModelJson, ranges: Sequence[tuple[float, float] | None]) -> ModelJson:
    """With names for the numbers of vectors and lists that have none: by them a row gives its numbers. ``ranges`` are those of the
    training samples, none where they are not known."""
    shape = record.input.shape
    if record.input.features or record.input.layout not in ("vector", "list") or not shape:
        return record
    width = shape[-1]
    names = _AXES if width == len(_AXES) else [f"x{number}" for number in range(1, width + 1)]
    known = ranges or (None,) * width
    features = tuple(
        Feature(name=name, categories=None, marks=None, range=span) for name, span in zip(names, known, strict=True)
    )
    return record.model_copy(update={"input": record.input.model_copy(update={"features": features})})


def _as_usage_reads(record: ModelJson) -> ModelFacts:
    facts: ModelFacts = json.loads(record.model_dump_json())
    return facts
