"""Two finished runs compared to the bit; every difference is a line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from tests.reliability.kills.inspection import labels_of_the_end
from training.checkpoints import load_state
from training.events import Event
from training.runs.folder import RunFolder, read_json
from training.runs.records.forms import BestCheckpoint, StatusRecord
from training.runs.records.history import read_history
from training.runs.records.manifest import STATE, checkpoint_folders, verify
from training.runs.records.series import STEP_ROW, read_series

OF_THE_DAY = {"time"}  # in a manifest
HOW_IT_WAS_READ = {"loader", "batches", "seal"}  # in a configuration and in data.json: a resume may do it otherwise
ENDINGS = ("status", "step", "epoch", "metrics", "skipped_steps", "reason")


@dataclass
class Comparison:
    """What was compared, and what differs."""

    tensors: int = 0
    numbers: int = 0
    rows: int = 0
    events: int = 0
    differences: list[str] = field(default_factory=list)

    def same(self, what: str, mine: Any, other: Any) -> None:
        """Compare two values of any kind; tensors by dtype, shape and bytes, numbers by their bits."""
        if isinstance(mine, Mapping) and isinstance(other, Mapping):
            for key in sorted(mine.keys() | other.keys(), key=str):
                if key in mine and key in other:
                    self.same(f"{what}.{key}", mine[key], other[key])
                else:
                    self.differences.append(
                        f"{what}.{key}: is {'missing' if key in other else 'there, and should not be'}"
                    )
        elif isinstance(mine, list | tuple) and isinstance(other, list | tuple):
            if len(mine) != len(other):
                self.differences.append(f"{what}: has {len(mine)} entries, not {len(other)}")
            for number, (first, second) in enumerate(zip(mine, other, strict=False)):
                self.same(f"{what}[{number}]", first, second)
        elif isinstance(mine, Tensor) and isinstance(other, Tensor):
            self._tensors(what, mine, other)
        else:
            self.numbers += 1
            if type(mine) is not type(other) or repr(mine) != repr(other):  # repr tells every bit of a float, and NaN
                self.differences.append(f"{what}: {mine!r}, not {other!r}")

    def _tensors(self, what: str, mine: Tensor, other: Tensor) -> None:
        self.tensors += 1
        if mine.dtype != other.dtype or mine.shape != other.shape:
            self.differences.append(f"{what}: {mine.dtype} {tuple(mine.shape)}, not {other.dtype} {tuple(other.shape)}")
        elif count := int((_bytes(mine) != _bytes(other)).sum()):
            self.differences.append(f"{what}: {count} of {mine.nbytes} bytes differ")


def _bytes(tensor: Tensor) -> Tensor:
    return tensor.contiguous().reshape(-1).view(torch.uint8)


def compare(mine: RunFolder, other: RunFolder, record: StatusRecord, other_record: StatusRecord) -> Comparison:
    """Compare everything that two runs of one configuration must agree in, and their last JSON lines."""
    result = Comparison()
    names = [{path.name: path for path in checkpoint_folders(folder)} for folder in (mine, other)]
    result.same("kept checkpoints", *(dict.fromkeys(found, True) for found in names))
    for name in sorted(names[0].keys() & names[1].keys()):
        _checkpoint(result, name, names[0][name], names[1][name])
    result.same("labels", labels_of_the_end(mine), labels_of_the_end(other))
    _series(result, mine, other)
    _history(result, mine, other)
    for key in ENDINGS:
        result.same(f"record.{key}", getattr(record, key), getattr(other_record, key))
    result.same("record.best", _without_folders(record.best), _without_folders(other_record.best))
    result.same("splits", load_file(mine.splits_file), load_file(other.splits_file))
    reports = [read_json(folder.data_file) for folder in (mine, other)]
    result.same("data.json", *({key: report[key] for key in report.keys() - HOW_IT_WAS_READ} for report in reports))
    result.same("config.toml", mine.config_file.read_text(), other.config_file.read_text())
    result.same("files", _files(mine), _files(other))
    return result


def _checkpoint(result: Comparison, name: str, mine: Path, other: Path) -> None:
    manifests = [
        {key: value for key, value in verify(path).model_dump().items() if key != "seal"} for path in (mine, other)
    ]
    for manifest in manifests:
        manifest["config"] = {key: value for key, value in manifest["config"].items() if key not in HOW_IT_WAS_READ}
        for key in OF_THE_DAY:
            manifest.pop(key)
    result.same(f"{name}.manifest", manifests[0], manifests[1])
    for file in sorted(manifests[0]["files"].keys() & manifests[1]["files"].keys()):
        if file == STATE:
            result.same(f"{name}.{file}", load_state(mine), load_state(other))
        else:
            result.same(f"{name}.{file}", load_file(mine / file), load_file(other / file))


def _series(result: Comparison, mine: RunFolder, other: RunFolder) -> None:
    first, second = read_series(mine.series_file), read_series(other.series_file)
    result.rows += len(first)
    if mine.series_file.read_bytes() == other.series_file.read_bytes():
        return
    result.same("series.steps", len(first), len(second))
    for column in STEP_ROW.names or ():
        pairs = zip(first[column].tolist(), second[column].tolist(), strict=False)
        result.same(f"series.{column}", *(list(values) for values in zip(*pairs, strict=True)))
    result.differences.append("series.bin: its bytes differ")


def _history(result: Comparison, mine: RunFolder, other: RunFolder) -> None:
    first, second = read_history(mine.events_file), read_history(other.events_file)
    result.events += len(first.validations) + len(first.epochs)
    result.same("validations", _timeless(first.validations), _timeless(second.validations))
    result.same("epochs", _timeless(first.epochs), _timeless(second.epochs))
    endings = [_timeless([history.final] if history.final else []) for history in (first, second)]
    result.same("ending", *endings)


def _timeless(events: list[Any] | list[Event]) -> list[dict[str, Any]]:
    return [{key: value for key, value in asdict(event).items() if key != "time"} for event in events]


def _without_folders(best: BestCheckpoint | None) -> object:
    return best and {**best.dump(), "checkpoint": Path(str(best.checkpoint)).name}


def _files(folder: RunFolder) -> dict[str, bool]:
    """Everything in the run's folder, and whether it is a folder: a killed run leaves no litter behind."""
    return {str(path.relative_to(folder.path)): path.is_dir() for path in folder.path.rglob("*")}
