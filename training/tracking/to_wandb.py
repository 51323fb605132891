"""Weights & Biases. Offline, a run is written as one from its complete points: resuming and several parts with one id are not to be had
there. Online, the run with our id goes on, and its steps only ever grow."""

from __future__ import annotations

import io
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from training.runs.folder import RunFolder
from training.runs.records.series import Rows
from training.sidecars.faults import Away, explain_missing
from training.tracking.cursor import Cursor
from training.tracking.ledger import Measured
from training.tracking.settings import WandB, place_of
from training.tracking.target import STEP_METRICS


class WandBTarget:
    """A ``target.Target``. What belongs to one step is sent as one row, so all waits for ``commit``."""

    def __init__(self, folder: RunFolder, settings: WandB, cursor: Cursor) -> None:
        try:
            import wandb
        except ImportError as error:
            raise explain_missing("wandb", "wandb") from error
        self._wandb, self._folder, self._settings, self._cursor = wandb, folder, settings, cursor
        self._run: Any = None
        self._rows: dict[int, dict[str, Any]] = {}
        self.place = place_of(settings, folder)

    def open(self, settings: Mapping[str, str], tags: Mapping[str, str]) -> None:
        """Begin it, or go on with it."""
        here, offline = self._folder.tracking, self._settings.mode == "offline"
        if offline:
            shutil.rmtree(here / "wandb", ignore_errors=True)
            self._cursor.steps, self._cursor.measured, self._cursor.sent = 0, 0, {}
        self._cursor.remote = self._folder.id
        try:
            self._run = self._wandb.init(
                id=self._folder.id,
                name=self._folder.read_status().name or None,
                project=self._settings.project,
                entity=self._settings.entity or None,
                mode=self._settings.mode,
                dir=str(here),
                resume=None if offline else "allow",
                config={**settings, **tags},
                allow_val_change=True,
                settings=self._wandb.Settings(
                    console="off",
                    disable_git=True,
                    disable_code=True,
                    x_disable_meta=True,
                    x_disable_stats=True,
                    silent=True,
                ),
            )
        except (self._wandb.errors.Error, OSError) as error:
            raise Away(f"Weights & Biases cannot be reached ({error}).") from error

    def send_points(self, rows: Rows) -> None:
        """Keep them for ``commit``."""
        for row in rows:
            values = {tag: float(row[name]) for tag, name in STEP_METRICS.items()}
            self._add(int(row["step"]), float(row["time"]), values)

    def send_measured(self, items: Sequence[Measured]) -> None:
        """Likewise."""
        for item in items:
            self._add(item.step, item.time, item.metrics)

    def _add(self, step: int, when: float, values: Mapping[str, Any]) -> None:
        row = self._rows.setdefault(step, {})
        row |= values
        if when:
            row.setdefault("_timestamp", when)

    def send_file(self, name: str, content: bytes) -> None:
        """Among the run's files."""
        (Path(self._run.dir) / name).write_bytes(content)

    def send_image(self, name: str, step: int, png: bytes) -> None:
        """With the step's numbers."""
        from PIL import Image

        with Image.open(io.BytesIO(png)) as image:
            shown = self._wandb.Image(image.copy(), caption=f"step {step:,}")
        self._add(max(step, self._cursor.steps), 0.0, {f"images/{name}": shown})  # steps only grow there

    def forget_from(self, step: int) -> None:
        """Online, lower steps are dropped: it keeps what it has."""

    def commit(self) -> None:
        """Send the rows by their steps."""
        try:
            for step in sorted(self._rows):
                self._run.log(self._rows[step], step=step)
        except (self._wandb.errors.Error, OSError) as error:
            raise Away(f"Weights & Biases cannot be reached ({error}).") from error
        self._rows = {}

    def end(self, final: Mapping[str, str]) -> None:
        """The summary, and the state."""
        self._run.summary.update({f"final/{name}": value for name, value in final.items()})
        self._run.finish(exit_code=0 if final["status"] == "completed" else 1)
        self._run = None

    def close(self) -> None:
        """Let go of its process."""
        if self._run is not None:
            self._run.finish(exit_code=1)
