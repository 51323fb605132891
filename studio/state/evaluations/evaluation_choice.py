"""Which evaluation is looked at: of a run, at a step, on a part of the data."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal

from studio.services.background import Background
from training.predictions import Evaluation, list_evaluations
from training.predictions.record import PARTS
from training.runs.folder import RunFolder, read_json
from training.runs.records.manifest import BEST, CheckpointInfo, list_checkpoints

logger = logging.getLogger(__name__)

FIRST_PART = "validation"


class EvaluationChoice(QObject):
    """What a person chose, and what there is to choose from. The folder is read in the background.

    Signals:
        changed(): another choice, or the folder was read again.
    """

    changed = Signal()

    def __init__(self, background: Background, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._background = background
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

    def choose_run(self, folder: RunFolder | None, step: int | None = None) -> None:
        """Look at another run; ``step`` as ``choose_step``, or what there is of it."""
        if folder != self.folder:
            self.folder, self.loaded = folder, False
            self.checkpoints, self.evaluations, self.parts = (), (), PARTS
            self.on, self.thresholds = FIRST_PART, ()
            self.step, self._is_settled = None, False
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
        """Look at the weights of another step."""
        if step != self.step:
            self.step, self._is_settled = step, True
            self.changed.emit()

    def choose_data(self, on: str) -> None:
        """Look at another part, or at other data that was evaluated."""
        if on != self.on:
            self.on = on
            self.changed.emit()

    def forget(self, evaluation: Evaluation) -> None:
        """Look at this one no longer, until the folder is read again."""
        self.evaluations = [each for each in self.evaluations if each is not evaluation]
        self.changed.emit()

    def refresh(self) -> None:
        """Read the folder again."""
        folder = self.folder
        if folder is not None:
            self._background.submit(
                lambda: (list_checkpoints(folder), list_evaluations(folder), _find_parts(folder)),
                lambda found: self._on_read(folder, *found),
                lambda error: self._on_failed(folder, error),
            )

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

    def _on_read(
        self,
        folder: RunFolder,
        checkpoints: Sequence[CheckpointInfo],
        evaluations: Sequence[Evaluation],
        parts: Sequence[str],
    ) -> None:
        if folder != self.folder:
            return
        self.loaded = True
        self.checkpoints, self.parts = checkpoints, parts
        known = {each.folder: each for each in self.evaluations}
        # The same object for what did not change: what was opened of it stays open.
        self.evaluations = [
            before if (before := known.get(each.folder)) is not None and before.record == each.record else each
            for each in evaluations
        ]
        is_seen = (
            self.evaluation is not None
        )  # what somebody looks at stays, though a better step came or its checkpoint went
        if self.step not in self.steps or not (self._is_settled or is_seen):
            self.step = self._find_first()
        self.changed.emit()

    def _on_failed(self, folder: RunFolder, error: Exception) -> None:
        logger.warning("The evaluations of %s could not be listed: %s", folder.id, error)
        self._on_read(folder, (), (), PARTS)

    def _find_first(self) -> int | None:
        """The best checkpoint; else the last one, else the newest evaluation."""
        best = next((each.step for each in self.checkpoints if BEST in each.labels), None)
        return best if best is not None else next(iter(self.steps), None)


def _find_parts(folder: RunFolder) -> Sequence[str]:
    """The parts that the run found in its data; all there may be, where it left no word."""
    known = read_json(folder.data_file).get("samples")
    return [part for part in PARTS if part in known] if isinstance(known, dict) else PARTS
