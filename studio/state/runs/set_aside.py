"""What a run set aside when it went back to an earlier checkpoint: how much it is, and its curves. Read in the background."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject, Signal

from studio.services.background import Background
from training.errors import InputError, format_bytes, pluralize
from training.events import Validated
from training.runs.folder import RunFolder
from training.runs.records.history import read_history
from training.runs.records.manifest import list_checkpoints
from training.runs.records.series import STEP_ROW, Rows, read_series
from training.runs.rewind import SetAside, finish_rewind, list_set_aside

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Stretch:
    """Steps that were set aside. Rows and validations begin where the run went back to, so that their curves meet."""

    aside: SetAside
    checkpoints: int
    rows: Rows = field(compare=False)
    validations: tuple[Validated, ...] = field(compare=False)

    @property
    def steps(self) -> str:
        """ "steps 201 to 400", or "step 201"."""
        return steps_between(self.aside.step, self.aside.reached)

    @property
    def words(self) -> str:
        """What a row says of it."""
        return f"{self.steps[0].upper()}{self.steps[1:]} set aside · {self.held}"

    @property
    def held(self) -> str:
        """What it holds, and the room it takes: an earlier checkpoint that the run has since dropped takes room here."""
        return f"{pluralize(self.checkpoints, 'checkpoint')} · takes {format_bytes(self.aside.size)}"


def steps_between(step: int, reached: int) -> str:
    """The steps after ``step``, in words."""
    return f"steps {step + 1:,} to {reached:,}" if reached > step + 1 else f"step {reached:,}"


class SetAsideList(QObject):
    """All stretches of one run, newest first.

    Signals:
        refreshed(): ``stretches`` is as new as the folder.
    """

    refreshed = Signal()

    def __init__(self, background: Background, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.stretches: tuple[Stretch, ...] = ()
        self.folder: RunFolder | None = None
        self._background = background
        self._known: dict[Path, Stretch] = {}  # the background thread's: as read last

    def set_folder(self, folder: RunFolder | None) -> None:
        """Another run, or none."""
        if folder != self.folder:
            self.folder, self.stretches = folder, ()
        self.refresh()

    def refresh(self) -> None:
        """Read the folder again."""
        folder = self.folder
        if folder is not None:
            self._background.submit(
                lambda: self._read(folder),
                lambda found: self._on_read(folder, found),
                lambda error: logger.warning("What %s set aside cannot be read: %s", folder.id, error),
            )

    def _read(self, folder: RunFolder) -> tuple[Stretch, ...]:
        finish_rewind(folder)
        asides = list_set_aside(folder)
        known = [self._known.get(aside.path) for aside in asides]
        found = tuple(
            old if old is not None and old.aside == aside else _stretch(aside)
            for aside, old in zip(asides, known, strict=True)
        )
        self._known = {stretch.aside.path: stretch for stretch in found}
        return found

    def _on_read(self, folder: RunFolder, found: tuple[Stretch, ...]) -> None:
        if folder == self.folder:
            self.stretches = found
            self.refreshed.emit()


def _stretch(aside: SetAside) -> Stretch:
    state = RunFolder(aside.path)
    rows, validations = np.empty(0, STEP_ROW), []
    try:
        rows = read_series(state.series_file)
        validations = [event for event in read_history(state.events_file).validations if "val/loss" in event.metrics]
    except (InputError, OSError) as error:  # it can be brought back or cleared away all the same
        logger.warning("The curves of %s cannot be read: %s", aside.path, error)
    first = max((event.step for event in validations if event.step <= aside.step), default=0)
    return Stretch(
        aside,
        checkpoints=sum(info.step > aside.step for info in list_checkpoints(state)),
        rows=rows[rows["step"] >= aside.step],
        validations=tuple(event for event in validations if event.step >= first),
    )
