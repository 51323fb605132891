"""What a power cut or a lost file leaves of a run's numbers over its steps, made fit to go on with. None of it touches weights."""

from __future__ import annotations

import numpy as np

from training.events import Finding
from training.runs.folder import RunFolder
from training.runs.records.columns import read_columns_header
from training.runs.records.series import FLUSH_ROW, STEP_ROW, SeriesWriter, count_rows, is_series


def repair_records(folder: RunFolder, step: int, steps_per_epoch: int) -> list[Finding]:
    """Make series, telemetry and columns fit to go on from ``step``; a finding for whatever was lost. To be called before any
    is opened for writing."""
    found = []
    if folder.series_file.exists() and not is_series(folder.series_file, STEP_ROW):
        folder.series_file.unlink()
    rows = count_rows(folder.series_file, STEP_ROW)
    if rows < step:
        _fill(folder, rows, step, steps_per_epoch)
        title = f"series.bin was damaged: the numbers of steps {rows + 1:,} to {step:,} are lost."
        advice = "The weights are exact; only the curves of that stretch are not. To get them again, resume from an earlier checkpoint."
        found.append(Finding(level="warning", title=title, advice=advice, step=step))
    if folder.telemetry_file.exists() and not is_series(folder.telemetry_file, FLUSH_ROW):
        folder.telemetry_file.unlink()
        title = "telemetry.bin was damaged and is begun again."
        found.append(Finding(level="info", title=title, advice="Only the speed before now is lost.", step=step))
    for path in folder.column_files:
        if path.exists() and read_columns_header(path) is None:
            path.unlink()
            title = f"{path.name} was damaged and is begun again."
            found.append(
                Finding(
                    level="info", title=title, advice="Only what it held of the steps before now is lost.", step=step
                )
            )
    return found


def _fill(folder: RunFolder, rows: int, step: int, steps_per_epoch: int) -> None:
    """Rows for steps whose numbers are lost: the step is known, everything measured is not a number."""
    missing = np.zeros(step - rows, STEP_ROW)
    missing["step"] = np.arange(rows + 1, step + 1)
    missing["epoch"] = (missing["step"] - 1) // steps_per_epoch
    for name in ("lr", "loss", "grad_norm"):
        missing[name] = np.nan
    writer = SeriesWriter(folder.series_file, STEP_ROW)
    writer.append(missing)
    writer.close()
