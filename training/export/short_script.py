"""The short script of a configuration, with the drawn samples and the person's own network that it needs beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np

from training.config import RunConfig
from training.config.sections.data.tables import TableSection
from training.data.source import Source
from training.data.sources import open_source
from training.data.sources.table import LOOKED_AT
from training.data.tables.table_file import read_section
from training.data.tables.unread import find_unread
from training.errors import InputError
from training.export.script import as_writer, keep_earlier, write_files
from training.protocol.answers import ExportResult
from training.runs.export_place import refuse_to_overwrite
from training.tutorial.script import write_short_script
from training.typed_paths import parse_path

FORMATS = ("tutorial", "accelerate")
"""What needs no weights: a configuration will do."""
_ARRAYS = {"x", "y"}


def export_short_script(config: RunConfig, to: str, out: Path) -> ExportResult:
    """Write the run that ``config`` describes as the script ``out``, a path ending in .py, and what it needs beside it. Raises
    InputError, naming the setting, for what the short script cannot say."""
    out = parse_path(out).absolute()
    refuse_to_overwrite(out)
    if isinstance(config.dataset, TableSection):
        config = _look_at_table(config, config.dataset)
    script = write_short_script(config, out.name, to == "accelerate")
    files: dict[Path, Callable[[BinaryIO], object]] = {}
    if script.network is not None:
        name, text = script.network
        refuse_to_overwrite(out.with_name(name))
        files[out.with_name(name)] = as_writer(text.encode())
    if script.drawn:
        data = out.with_name(script.drawn)
        if data.exists() and not _is_drawn(data):
            raise InputError(f"{data}: is there already and not an export of ours; choose another name for the script.")
        source = open_source(config.dataset)
        files[data] = lambda stream: _write_drawn(source, stream)
    beside = ", ".join(path.name for path in files)
    earlier = keep_earlier(out, script.text, files)
    files[out] = as_writer(script.text.encode())
    write_files(files)
    return ExportResult(
        format=to,
        path=str(out),
        files=tuple(str(path) for path in reversed(files)),
        summary=f"Wrote the run as a short script of {len(script.text.splitlines())} lines to {out}"
        + (f"; it needs {beside} beside it." if beside else ".")
        + f" It trains the same way, with other random numbers.{earlier}",
    )


def _look_at_table(config: RunConfig, dataset: TableSection) -> RunConfig:
    """``config`` with how its table is written. Raises InputError for columns that the short script does not read."""
    frame, written = read_section(dataset, LOOKED_AT)
    if why := find_unread(frame, dataset, written):
        raise InputError(why)
    if written is None:
        return config
    known = {"encoding": written.encoding, "separator": "tab" if written.separator == "\t" else written.separator}
    known |= {"decimal": ","} if written.commas else {}
    return config.model_copy(update={"dataset": dataset.model_copy(update=known)})


def _write_drawn(source: Source, stream: BinaryIO) -> None:
    np.savez(stream, x=source.read_all().numpy(), y=source.targets.numpy())


def _is_drawn(path: Path) -> bool:
    try:
        with np.load(path) as arrays:
            return set(arrays.files) == _ARRAYS
    except (OSError, ValueError):
        return False
