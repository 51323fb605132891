"""Weights & Biases. Offline, a run is written as one from its complete points: resuming and several parts with one id are not to be had
there. Online, the run with our id goes on, and its steps only ever grow."""

from __future__ import annotations

import io
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from training.errors import TrainingError
from training.runs.folder import RunFolder
from training.runs.records.series import Rows
from training.sidecars.faults import Away, Refused, explain_missing, explain_place
from training.tracking.cursor import Cursor
from training.tracking.ledger import Measured
from training.tracking.settings import WandB
from training.tracking.target import STEP_METRICS

_SECONDS = 20  # for an answer; the client's own 90 would keep the other trackers waiting


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
                    init_timeout=_SECONDS,
                ),
            )
        except self._wandb.errors.Error as error:
            raise _explain(error) from error
        except OSError as error:
            raise explain_place(here, error) from error
        self._cursor.link = "" if offline else str(self._run.url or "")

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
        path = Path(self._run.dir) / name
        try:
            path.write_bytes(content)
        except OSError as error:
            raise explain_place(path.parent, error) from error

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
        except self._wandb.errors.Error as error:
            raise _explain(error) from error
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


def try_wandb(settings: WandB) -> str:
    """Ask whose key it is; returns the sentence that all is well, raises what a delivery would."""
    try:
        import wandb
    except ImportError as error:
        raise explain_missing("wandb", "wandb") from error
    if settings.mode == "offline":
        return f"wandb {wandb.__version__} is installed; its offline files are written to each run's own folder."
    try:
        user = wandb.Api(timeout=_SECONDS).viewer
    except wandb.errors.Error as error:
        raise _explain(error) from error
    return f"Weights & Biases knows the key as that of {user.username or user.email}."


def _explain(error: Exception) -> TrainingError:
    """The sentence for an error of its client. That it cannot be reached comes in the clothes of a key that is refused, too."""
    words = " ".join(str(error).split())[:300]
    away = ("did not respond", "deadline exceeded", "connection refused", "no such host", "timeout", "timed out")
    if any(sign in words.lower() for sign in away):
        return Away(f"Weights & Biases cannot be reached ({words.removesuffix('.')}).")
    if type(error).__name__ in ("UsageError", "AuthenticationError") or "error 401" in words:
        why = words.removesuffix(".").partition(". Use")[0]
        return Refused(
            f"Weights & Biases wants a key that it knows ({why}); set WANDB_API_KEY, or keep it in the keyring."
        )
    return Away(f"Weights & Biases does not take the run ({words.removesuffix('.')}).")
