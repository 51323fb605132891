"""Which evaluation is looked at: of a run, at a step, on a part of the data."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Signal

from studio.services.background import Background, Refresher
from training.predictions import Evaluation, list_evaluations
from training.predictions.record import PARTS
from training.runs.folder import RunFolder, read_json
from training.runs.records.manifest import BEST, CheckpointInfo, list_checkpoints

logger = logging.getLogger(__name__)

FIRST_PART = "validation"
_Read = tuple[Sequence[CheckpointInfo], Sequence[Evaluation], Sequence[str]]


class EvaluationChoice(QObject):
    """What a person chose, and what there is to choose from. The folder is read in the background.

    Signals:
        changed(): another choice, or the folder was read again.
    """

    changed = Signal()

    def __init__(self, background: Background, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._refresher = Refresher(background, self._prepare_reading, self._on_read, self._on_failed)
        self._read_folder: RunFolder | None = None  # by the reading under way, or the last one
        self.folder: RunFolder | None = None
        self.checkpoints: Sequence[CheckpointInfo] = ()
        self.evaluations: Sequence[Evaluation] = ()
        self.parts: Sequence[str] = PARTS
        self.step: int | None = None
        self.on = FIRST_PART
        self.loaded = False  # whether the folder was read since it was chosen
        self.is_wanted = False  # what is chosen is to be evaluated where it was not yet
        self.thresholds: tuple[float, ...] = ()  # where a person moved them: one, or one for each label
        self._is_settled = False  # the person chose the step; until then it follows what there is
        self._held: CheckpointInfo | None = None  # is to be evaluated, or was refused

    def choose_run(self, folder: RunFolder | None, step: int | None = None) -> None:
        """Look at another run; ``step`` as ``choose_step``, or what there is of it."""
        if folder != self.folder:
            self.folder, self.loaded = folder, False
            self.checkpoints, self.evaluations, self.parts = (), (), PARTS
            self.on, self.thresholds = FIRST_PART, ()
            self.step, self._is_settled, self._held = None, False, None
            self.is_wanted = self.is_wanted and step is not None
        if step is not None:
            self.step, self._is_settled = step, True
        self.changed.emit()
        self.refresh()

    def want(self, folder: RunFolder, step: int, on: str = FIRST_PART) -> None:
        """Look at a checkpoint's answers to the part ``on``; they are to be computed where they are not there."""
        self.on, self.is_wanted = on, True
        self.loaded = False  # it is the folder that says whether they are
        self.choose_run(folder, step)

    def choose_step(self, step: int) -> None:
        """Look at the weights of this step, and stay there."""
        self._is_settled = True
        if step != self.step:
            self.step, self._held = step, None
            self.changed.emit()

    def choose_data(self, on: str) -> None:
        """Look at another part, or at other data that was evaluated."""
        if on != self.on:
            self.on = on
            self.changed.emit()

    def hold(self, checkpoint: CheckpointInfo) -> None:
        """Stay with a checkpoint until it is evaluated, though a run at work comes to a better one, or deletes this one, meanwhile."""
        self.choose_step(checkpoint.step)
        self._held = checkpoint

    def forget(self, evaluation: Evaluation) -> None:
        """Look at this one no longer, until the folder is read again."""
        self.evaluations = [each for each in self.evaluations if each is not evaluation]
        self.changed.emit()

    def refresh(self) -> None:
        """Read the folder again."""
        if self.folder is not None:
            self._refresher.ask()

    @property
    def steps(self) -> list[int]:
        """Those that were evaluated, or can be; the newest first."""
        return sorted({each.step for each in self.checkpoints} | {each.record.step for each in self.evaluations})[::-1]

    @property
    def data(self) -> list[str]:
        """The parts that the run's data has, and the paths of other data that was evaluated, or is to be."""
        others = sorted({self.on, *(each.record.on for each in self.evaluations)} - set(PARTS))
        return [*self.parts, *others]

    @property
    def evaluation(self) -> Evaluation | None:
        """What is there of the choice."""
        return next((each for each in self.epochs if each.record.step == self.step), None)

    @property
    def epochs(self) -> list[Evaluation]:
        """The evaluations on the chosen data, the oldest step first: those of an epoch slider."""
        return [each for each in reversed(self.evaluations) if each.record.on == self.on]

    @property
    def checkpoint(self) -> CheckpointInfo | None:
        """That of the chosen step; None where it was deleted since, or is kept of its validation only."""
        return next((each for each in self.checkpoints if each.step == self.step), None)

    def labels_of(self, step: int) -> tuple[str, ...]:
        """How its checkpoint is labeled ("best", "last")."""
        return next((tuple(each.labels) for each in self.checkpoints if each.step == step), ())

    def _prepare_reading(self) -> Callable[[], _Read]:
        folder = self._read_folder = self.folder
        if folder is None:
            return lambda: ((), (), PARTS)
        return lambda: (list_checkpoints(folder), list_evaluations(folder), _find_parts(folder))

    def _on_read(self, found: _Read) -> None:
        if self._read_folder is None or self._read_folder != self.folder:
            return
        checkpoints, evaluations, parts = found
        self.loaded = True
        self.checkpoints, self.parts = checkpoints, parts
        held = self._held
        if held is not None and all(each.step != held.step for each in checkpoints):
            self.checkpoints = [*checkpoints, held]
        known = {each.folder: each for each in self.evaluations}
        # The same object for what did not change: what was opened of it stays open.
        self.evaluations = [
            before if (before := known.get(each.folder)) is not None and before.record == each.record else each
            for each in evaluations
        ]
        is_seen = self.evaluation is not None  # it stays, though a better step came or its checkpoint went
        if is_seen:
            self._held = None
        if self.step not in self.steps or not (self._is_settled or is_seen):
            self.step = self._find_first()
        self.changed.emit()

    def _on_failed(self, error: Exception) -> None:
        if self._read_folder != self.folder:
            self.refresh()
        elif self.folder is not None:
            logger.warning("The evaluations of %s could not be listed: %s", self.folder.id, error)
            self._on_read(((), (), PARTS))

    def _find_first(self) -> int | None:
        """The best checkpoint; else the last one, else the newest evaluation."""
        best = next((each.step for each in self.checkpoints if BEST in each.labels), None)
        return best if best is not None else next(iter(self.steps), None)


def _find_parts(folder: RunFolder) -> Sequence[str]:
    """The parts that the run found in its data; all there may be, where it left no word."""
    known = read_json(folder.data_file).get("samples")
    return [part for part in PARTS if part in known] if isinstance(known, dict) else PARTS
