"""What the script of a run says about tables and texts."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from training.config.sections.data.tables import TableDataset
from training.config.sections.data.text import TextDataset
from training.data.source import Opening
from training.data.sources.table import load
from training.data.sources.text import token_kind
from training.data.tables.columns import PARTS, find_roles
from training.data.tables.table_file import find_schema
from training.data.tables.table_text import Written
from training.export.bundle import ExportBundle
from training.export.listings.prepared_tensors import explain_need, open_again
from training.export.listings.task_listing import TRUTH
from training.facts import DataFacts
from training.tutorial.literals import Setting, code, setting

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Reading:
    """How a script reads a kind of data, or makes it, and which parts come with that: what each is called there."""

    lines: Sequence[str]
    settings: list[Setting]
    parts: Mapping[str, Sequence[str]] = field(default_factory=lambda: {"train": ("",)})
    keys: str = "[sample.numpy().tobytes() for sample in samples]"
    """What tells samples from their copies."""
    unreadable: str = ""
    """Errors that tell of damaged files, besides the usual ones."""
    packages: Sequence[str] = ()


_TOKENS = {
    "characters": "encode_characters(text, CHARACTERS)",
    "bytes": "np.frombuffer(text.encode(), np.uint8)",
    "bpe": "tokenizer.encode(text).ids",
}
"""The tokens of a text by the kind of vocabulary."""

logger = logging.getLogger(__name__)


def describe_text(bundle: ExportBundle, dataset: TextDataset) -> Reading:
    known = bundle.facts
    encoding = "utf-8-sig" if dataset.encoding == "utf-8" else dataset.encoding
    settings = [
        Setting("Tokens that are seen at once.", "CONTEXT", dataset.context),
        Setting("Tokens from one training window to the next.", "STRIDE", dataset.stride or dataset.context),
    ]
    reading = [f"text = {_reading(dataset.path, 'path', encoding)}"]
    if dataset.validation_path:
        reading.append(f"texts = text, {_reading(dataset.validation_path, 'Path(VALIDATION_DATA)', encoding)}")
        settings.append(Setting("The text to judge by.", "VALIDATION_DATA", code(dataset.validation_path)))
    else:
        reading += ["cut = count_trained(len(text), VALIDATION_FRACTION)", "texts = text[:cut], text[cut:]"]
        share = dataset.validation_fraction
        settings.append(Setting("Share of the text, at its end, to judge by.", "VALIDATION_FRACTION", share))
    if known.vocabulary == "characters":
        settings.append(Setting("Those of the training text.", "CHARACTERS", list(known.names[1:])))
    if known.vocabulary == "bpe":
        reading.append("tokenizer = train_byte_pairs(texts[:1], VOCABULARY_SIZE)")
        settings.append(setting(dataset, "vocabulary_size"))
    kind = token_kind(len(known.names)).__name__
    reading.append(f"tokens = [torch.tensor({_TOKENS[known.vocabulary]}, dtype=torch.{kind}) for text in texts]")
    reading.append("samples, following, parts = cut_windows(tokens, CONTEXT, STRIDE)")
    return Reading(reading, settings, packages=["numpy"] + ["tokenizers"] * (known.vocabulary == "bpe"))


def _reading(place: str, path: str, encoding: str) -> str:
    """The call that reads the text at ``place``, which the script calls ``path``."""
    return f'read_texts({path}, "{encoding}")' if Path(place).is_dir() else f'{path}.read_bytes().decode("{encoding}")'


def describe_table(bundle: ExportBundle, dataset: TableDataset) -> Reading:
    known = bundle.facts
    with explain_need():
        frame, written, _, _ = load(dataset, Opening(check=False))
        roles = find_roles(frame, dataset)
        found = find_schema(dataset, written)
        words = _part_words(frame, dataset.split_column)
    features, moments, buckets = _list_features(known, dataset)
    marked = [list(features).index(name.removesuffix(" missing")) for name in known.columns[len(features) :]]
    clean = _write_cleaning(frame, found, written)
    rows = "append_gaps(encode_rows(frame, FEATURES), MARKED)" if marked else "encode_rows(frame, FEATURES)"
    truth = "encode_rows(frame[TARGETS].cast(pl.Float64), dict.fromkeys(TARGETS))"
    if known.target == "tasks":
        truth = "encode_rows(frame, TASKS) - torch.tensor([float(texts is not None) for texts in TASKS.values()])"
    if known.target == "class":
        truth = "number_classes(frame[TARGETS[0]], CLASSES)"
    parts = '{"train": torch.arange(len(frame))}'
    if dataset.split_column:
        parts = "rows_by_part(frame[SPLIT_COLUMN], PARTS)"
    settings = [
        Setting("What to predict.", "TARGETS", list(roles.targets)),
        Setting(
            "What from: each column, with the texts of a category in the order of their numbers.", "FEATURES", features
        ),
    ]
    optional = {
        "MOMENTS": (
            "Dates and times: how they are written (as strptime has it, nothing for ISO 8601) and what they become.",
            moments,
        ),
        "BUCKETS": ("Texts that become one of so many codes, by their CRC-32.", buckets),
        "MARKED": ("Whether these of them are missing is one more column each.", marked),
    }
    settings += [Setting(about, name, value) for name, (about, value) in optional.items() if value]
    if written:
        settings += [
            Setting("", "MISSING", list(dataset.missing_marks)),
            Setting("", "SEPARATOR", code(written.separator)),
        ]
    if known.target == "class":
        settings.append(Setting("", "CLASSES", list(known.names)))
    if known.target == "tasks":
        tasks = {name: list(each) or None for name, each in zip(known.names, known.target_classes, strict=True)}
        settings.append(Setting("The classes of each target, none of a number.", "TASKS", tasks))
    return Reading(
        lines=[
            f"frame = {_write_reading(found, written)}",
            f"frame = {clean}.drop_nulls(TARGETS)",
            *["frame = add_moment_parts(frame, MOMENTS)"] * bool(moments),
            *["frame = hash_texts(frame, BUCKETS)"] * bool(buckets),
            *["frame = frame.filter(frame[TARGETS[0]].cast(pl.String).is_in(CLASSES))"] * bool(dataset.classes),
            f"samples = {rows}",
            f"{TRUTH[known.target]} = {truth}",
            f"parts = {parts}",
        ],
        settings=settings,
        parts=words,
        keys="[row.numpy().tobytes() for row in encode_whole(frame, FEATURES)]",
        unreadable=", pl.exceptions.PolarsError",
        packages=["polars"],
    )


def _list_features(
    known: DataFacts, dataset: TableDataset
) -> tuple[dict[str, list[str] | None], dict[str, tuple[str, list[str]]], dict[str, int]]:
    """The features that mark no gaps, each with the texts of a category; how columns of dates are written, and what becomes of them;
    the buckets of hashed texts."""
    features: dict[str, list[str] | None] = {}
    moments: dict[str, tuple[str, list[str]]] = {}
    buckets: dict[str, int] = {}
    for place, name in enumerate(known.columns):
        if dataset.missing_indicator and name.removesuffix(" missing") in features:
            break
        coded = bool(known.categories) and known.categories[place] > 0
        features[name] = list(known.codes[place]) if coded else None
        part = known.derivation(place)
        if part is not None and part.part == "hash":
            buckets[part.column], features[name] = part.buckets, None
        elif part is not None:
            moments.setdefault(part.column, (part.form, []))[1].append(part.part)
    return features, moments, buckets


def _write_reading(found: pl.Schema, written: Written | None) -> str:
    """What reads the file, whose columns polars itself finds to be ``found``."""
    if written is None:
        return "pl.read_parquet(path)"
    options = ", decimal_comma=True" * written.commas
    options += f", encoding={code(written.encoding)}" * (written.encoding != "utf-8")
    spaced = ".rename(str.strip)" if any(name != name.strip() for name in found) else ""
    return f"pl.read_csv(path, separator=SEPARATOR, null_values=MISSING, infer_schema_length=None{options}){spaced}"


def _write_cleaning(frame: pl.DataFrame, found: pl.Schema, written: Written | None) -> str:
    """What makes ``frame`` of it: where polars finds the very types that the engine makes of the columns, only cells are left to
    clean."""
    marks = "MISSING" if written else "()"
    if found.dtypes() == frame.dtypes:
        return f"clean_cells(frame, {marks})"
    style = (written.thousands, written.decimal) if written is not None and written.as_texts else ("", ".")
    return f"plain_columns(frame, {marks}{'' if style == ('', '.') else f', {code(style[0])}, {code(style[1])}'})"


def _part_words(frame: pl.DataFrame, column: str | None) -> dict[str, list[str]]:
    """What a column calls each part, lower case; nothing without a column."""
    import polars as pl

    if column is None:
        return {}
    words = frame.get_column(column).cast(pl.String).str.to_lowercase().drop_nulls().unique().sort().to_list()
    found: dict[str, list[str]] = {}
    for word in words:
        found.setdefault(PARTS[word], []).append(word)
    return found


def has_same_rows(bundle: ExportBundle, script: ModuleType) -> bool:
    """Whether the script reads, makes and splits what is no image as the run does; it is read once more for that."""
    dataset = bundle.config.dataset
    if bundle.prepared is not None or bundle.facts.layout == "image":
        return True
    source, splits = open_again(bundle.config, Opening(), bundle.run.exclude_file)
    try:
        samples, truth, parts = script.read_data(*([Path(str(dataset.path))] if hasattr(dataset, "path") else []))
    except Exception:
        logger.exception("The script cannot read the data.")
        return False
    wanted, ours = source.targets, source.read_all()
    if source.layout == "tokens":
        ours, wanted = ours[:, :-1].long(), ours[:, 1:].long()
        samples = samples.long()
    return (
        _same(samples, ours)
        and _same(truth, wanted)
        and parts.keys() == splits.keys()
        and all(torch.equal(parts[name], splits[name]) for name in splits)
    )


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, rtol=0.0, atol=0.0, equal_nan=True)
