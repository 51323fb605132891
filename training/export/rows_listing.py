"""What the script of a run says about tables and texts."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import torch

from training.config.tables import TableDataset
from training.config.text import TextDataset
from training.data.columns import find_roles
from training.data.source import Opening
from training.data.sources import open_source
from training.data.sources.table import load
from training.data.splits import split_source
from training.errors import InputError
from training.export.material import Material

logger = logging.getLogger(__name__)


def refuse_rows(dataset: TableDataset | TextDataset, instead: str) -> None:
    """Raise InputError for settings that no template says."""
    if isinstance(dataset, TextDataset):
        refused = {
            "vocabulary": dataset.vocabulary == "bpe",
            "validation_path": dataset.validation_path is not None,
            "encoding": dataset.encoding != "utf-8",
            "path": not Path(dataset.path).is_file(),
        }
    else:
        refused = {
            "split_column": dataset.split_column is not None,
            "group_column": dataset.group_column is not None,
            "missing_indicator": dataset.missing_indicator,
        }
    for name, on in refused.items():
        if on:
            raise InputError(f"dataset.{name}: a script cannot read data in this way yet; {instead}.")


def describe_rows(material: Material) -> dict[str, Any]:
    """For the templates."""
    dataset = material.config.dataset
    if isinstance(dataset, TextDataset):
        return {"vocabulary": dataset.vocabulary}
    return {"parquet": Path(dataset.path).suffix.lower() == ".parquet"} if isinstance(dataset, TableDataset) else {}


def row_settings(material: Material, facts: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """Comment, name and value of what the templates name in capitals."""
    dataset, known = material.config.dataset, material.facts
    if isinstance(dataset, TextDataset):
        settings: list[tuple[str, str, Any]] = [("Tokens that are seen at once.", "CONTEXT", dataset.context)]
        settings.append(("Tokens from one training window to the next.", "STRIDE", dataset.stride or dataset.context))
        if dataset.vocabulary == "characters":
            settings.append(("Those of the training text.", "CHARACTERS", list(known.names[1:])))
        return [
            *settings,
            ("Share of the text, at its end, to judge by.", "VALIDATION_FRACTION", dataset.validation_fraction),
        ]
    if not isinstance(dataset, TableDataset):
        return []
    try:
        frame, _, _ = load(dataset, Opening(check=False))
        targets = find_roles(frame, dataset).targets
    except InputError as error:
        raise InputError(
            f"{error.message} The script is written from the dataset; bring it back to where the run had it."
        ) from error
    features = {
        name: list(known.codes[place]) if known.categories and known.categories[place] else None
        for place, name in enumerate(known.columns)
    }
    settings = [
        ("What to predict.", "TARGETS", list(targets)),
        ("What from: each column, with the texts of a category in the order of their numbers.", "FEATURES", features),
    ]
    if not facts["parquet"]:
        settings.append(("", "MISSING", list(dataset.missing_marks)))
        settings.append(("", "SEPARATOR", _separator(dataset)))
    return settings + ([("", "CLASSES", list(known.names))] if known.target == "class" else [])


def _separator(dataset: TableDataset) -> str:
    if dataset.separator != "auto":
        return repr("\t" if dataset.separator == "tab" else dataset.separator)
    with Path(dataset.path).open(encoding="utf-8-sig") as file:
        header = file.readline()
    return repr(max(",;\t|", key=header.count))


def rows_alike(material: Material, script: dict[str, Any]) -> bool:
    """Whether the script reads and splits tables and texts as the run does; they are read once more for that."""
    dataset = material.config.dataset
    if not isinstance(dataset, TableDataset | TextDataset):
        return True
    source = open_source(dataset, Opening())
    splits = split_source(source, dataset)
    source = source.fit(splits["train"])
    try:
        samples, truth, parts = script["read_data"](Path(dataset.path))
    except Exception:
        logger.exception("The script cannot read the data.")
        return False
    if "split" in script:
        is_class = source.target == "class"
        parts = script["split"](truth if is_class else torch.zeros(len(samples), dtype=torch.int64), parts)
    wanted, ours = source.targets, source.take()
    if source.layout == "tokens":
        ours, wanted = ours[:, :-1].long(), ours[:, 1:].long()
        samples = samples.long()
    return (
        torch.allclose(samples, ours, rtol=0.0, atol=0.0, equal_nan=True)
        and torch.equal(truth, wanted)
        and parts.keys() == splits.keys()
        and all(torch.equal(parts[name], splits[name]) for name in splits)
    )
