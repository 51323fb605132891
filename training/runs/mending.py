"""A run's own files looked over before it goes on: what can be made again is, what is lost is said.

The checkpoints have their digests; here it is about the files around them. Each checkpoint notes what the series and the
events looked like when it was made (``Workplace.evidence``, ``SeriesWriter.evidence``), so a byte that changed since is
noticed. None of this touches weights: they go on exactly.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from training.config import parse_config
from training.config.files import config_data, save_config
from training.errors import CheckpointError, InputError
from training.events import Found
from training.runs.folder import RunFolder, config_sum, read_json
from training.runs.history import read_history, sum_of_prefix
from training.runs.links import refuse_links
from training.runs.manifest import checkpoint_folders, read_manifest
from training.runs.series import (
    FLUSH_ROW,
    GROUP_ROWS,
    GROUP_SIZES,
    STEP_ROW,
    SeriesWriter,
    count_rows,
    group_sums,
    is_series,
)
from training.toml_text import read_config_text, read_toml


def standing(folder: RunFolder) -> int:
    """How many steps the run has behind it: the rows of its series, or, where the series lost some, what its events tell.

    Checkpoints ahead of that were left by an earlier version, which went back without setting them aside.
    """
    return max(read_history(folder.events_file).reached, count_rows(folder.series_file, STEP_ROW))


def mend_config(folder: RunFolder) -> list[Found]:
    """Replace a configuration that is lost, unreadable or cut short by that of the newest checkpoint that knows it, and say
    so; raises InputError when it cannot be read and none does."""
    fault = None
    try:
        folder.config()
    except InputError as error:
        fault = error
    for checkpoint in checkpoint_folders(folder):
        try:
            known = read_manifest(checkpoint)["config"]
            written = _names(read_toml(read_config_text(folder.config_file), "")) if fault is None else set()
            # An attempt may have had more: with --set a loader of its own, which the run's configuration leaves open.
            if fault is None and _names(known) & _names(config_data(folder.config())) <= written:
                return []
            config = parse_config(known, str(checkpoint), paths=False)
        except (CheckpointError, InputError):
            continue
        refuse_links(folder.path)  # neither read through a link nor written through one
        kept = "It was lost."
        if folder.config_file.exists():  # copied, not moved: without its configuration a folder is no run
            shutil.copyfile(folder.config_file, folder.path / "config.damaged")
            kept = "What was there is kept as config.damaged."
        save_config(config, folder.config_file)
        title = f"config.toml was damaged and was made again from {checkpoint.name}."
        return [Found(level="warning", title=title, advice=kept)]
    if fault is not None:
        raise fault
    return []


def _names(settings: Mapping[str, Any]) -> set[str]:
    """Every setting's dotted name: the file is written with all of them."""
    sections = {name: value for name, value in settings.items() if isinstance(value, dict)}
    return set(settings) | {f"{name}.{key}" for name, section in sections.items() for key in section}


def refuse_changed_config(folder: RunFolder) -> None:
    """Raise InputError when the configuration is not the one the run was made with; for a run without a checkpoint, as a
    checkpoint compares by itself. The file is compared as it is written: a later version has settings that it does not name."""
    known = read_json(folder.status_file).get("config_sum")
    if known is not None and known not in (config_sum(folder.settings()), config_sum(config_data(folder.config()))):
        raise InputError(
            f"{folder.config_file}: was changed or damaged since the run was made, and no checkpoint knows what it said; "
            "put the old file back, or start a new run."
        )


def mend_records(folder: RunFolder, step: int, steps_per_epoch: int, manifest: Mapping[str, Any]) -> list[Found]:
    """Make series, telemetry and events fit to go on from ``step``, where ``manifest``'s checkpoint stands; a finding for
    whatever was damaged. To be called before any of them is opened for writing, the events excepted."""
    found = [
        Found(level="warning", title=title, advice=advice, step=step)
        for title, advice in (
            _mend_series(folder, step, steps_per_epoch, manifest.get("series")),
            _look_at_events(folder, manifest.get("events")),
        )
        if title
    ]
    if folder.telemetry_file.exists() and not is_series(folder.telemetry_file, FLUSH_ROW):
        folder.telemetry_file.unlink()
        title = "telemetry.bin was damaged and is begun again."
        found.append(Found(level="info", title=title, advice="Only the speed before now is lost.", step=step))
    return found


def _mend_series(folder: RunFolder, step: int, steps_per_epoch: int, evidence: Any) -> tuple[str, str]:
    path = folder.series_file
    if path.exists() and not is_series(path, STEP_ROW):
        if os.stat(path).st_size <= SeriesWriter.HEADER:
            path.unlink()
        else:
            SeriesWriter.mend_header(path, STEP_ROW)
    rows = count_rows(path, STEP_ROW)
    parts = []
    if isinstance(evidence, dict) and evidence.get("rows") == step:
        wrong = _differing(path, min(rows, step), step, evidence.get("sums"), evidence.get("group", GROUP_ROWS))
        parts += [f"{first:,} to {last:,}" for first, last in wrong]
    if rows < step:
        _fill(path, rows, step, steps_per_epoch)
    if rows < step:
        lost = f"the numbers of steps {rows + 1:,} to {step:,} are lost"
        parts = [lost] + [f"those of steps {part} are wrong in places" for part in parts]
    elif parts:
        parts = [f"numbers of steps {', '.join(parts)} are wrong in places"]
    if not parts:
        return "", ""
    return (
        f"series.bin was damaged: {'; '.join(parts)}.",
        "The weights are exact; only the curves of that stretch are not. To get them again, resume from an earlier "
        "checkpoint: the same steps are done again.",
    )


def _differing(path: Path, rows: int, step: int, sums: Any, group: Any) -> list[tuple[int, int]]:
    """First and last step of each group of rows that is not what it was; groups cut short by a loss are passed over."""
    if not isinstance(sums, list) or not rows or type(group) is not int or group not in GROUP_SIZES:
        return []
    whole = rows // group if rows < step else len(sums)
    now = group_sums(path, STEP_ROW, rows, group)
    return [
        (at * group + 1, min((at + 1) * group, step))
        for at, (old, new) in enumerate(zip(sums[:whole], now, strict=False))
        if old != new
    ]


def _fill(path: Path, rows: int, step: int, steps_per_epoch: int) -> None:
    """Rows for steps whose numbers are lost: the step is known, everything measured is not a number."""
    missing = np.zeros(step - rows, STEP_ROW)
    missing["step"] = np.arange(rows + 1, step + 1)
    missing["epoch"] = (missing["step"] - 1) // steps_per_epoch
    for name in ("lr", "loss", "grad_norm"):
        missing[name] = np.nan
    writer = SeriesWriter(path, STEP_ROW)
    writer.append(missing)
    writer.close()


def _look_at_events(folder: RunFolder, evidence: Any) -> tuple[str, str]:
    if not isinstance(evidence, dict) or not isinstance(evidence.get("bytes"), int):
        return "", ""
    if sum_of_prefix(folder.events_file, evidence["bytes"]) == (evidence["bytes"], evidence.get("crc32")):
        return "", ""
    return (
        "events.jsonl was damaged: validations, epochs or findings before this step may be missing or wrong in the charts.",
        "The weights and the choice of the best checkpoint are exact. To get them again, resume from an earlier checkpoint: "
        "the same steps are done again.",
    )
