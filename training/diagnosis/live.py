"""The diagnosis of a run at work: looks where they are due, whenever its numbers are written."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from training.config import RunConfig
from training.diagnosis.judges import CODES
from training.diagnosis.looks import Diagnosis, plan_looks
from training.diagnosis.recorded import Recorded, RecordReader, calls_for_validation
from training.errors import InputError
from training.events import Finding
from training.runs.folder import RunFolder

logger = logging.getLogger(__name__)


class LiveDiagnosis:
    """Looks at a run whose folder is being written, and hands ``tell`` what there is to tell.

    A look at a step sees what was recorded up to it, however much later it takes place: it tells the same whenever numbers are
    written. Nothing of it changes the run, and what it cannot read ends no run.
    """

    def __init__(
        self,
        folder: RunFolder,
        config: RunConfig,
        total_steps: int,
        steps_per_epoch: int,
        parameters: int,
        tell: Callable[[Finding], None],
    ) -> None:
        """``parameters``: how many the network has."""
        self._folder, self._config, self._tell = folder, config, tell
        self._plan = plan_looks(total_steps, steps_per_epoch, config.loop, parameters)
        self._steps_per_epoch, self._total = steps_per_epoch, total_steps
        self._begin()

    def _begin(self) -> None:
        self._diagnosis = Diagnosis()
        self._reader: RecordReader | None = None
        self._looked = 0  # how many looks were taken
        self._known: set[tuple[str, int, int | None]] = set()  # what the events tell already

    def resume(self, step: int) -> None:
        """The run stands at ``step``, where a checkpoint was: what the looks up to there found is found again, and told where a
        kill had come before that."""
        self._begin()
        if step and (run := self._read()) is not None:
            self._known = {_identity(each) for each in run.findings if each.code in CODES}
            self._look(step)

    def after_flush(self, step: int) -> None:
        """The numbers up to ``step`` are written; where it is validated, that is not told yet."""
        self._look(step - 1 if self._is_validated(step) else step)

    def after_validation(self, step: int) -> None:
        """All is told of ``step``."""
        self._look(step)

    def end(self, reason: str) -> None:
        """The run is complete, for this reason."""
        if (run := self._read()) is not None:
            self._look(run.step)
            self._tell_all(self._diagnosis.end(replace(run, ended=reason)))

    def _is_validated(self, step: int) -> bool:
        return calls_for_validation(step, self._config, self._total, self._steps_per_epoch)

    def _look(self, step: int) -> None:
        run = None
        for each in self._plan.steps[self._looked :]:
            if each > step:
                return
            self._looked += 1
            if self._diagnosis.needs(each, self._plan) and (run := run or self._read()) is not None:
                self._tell_all(self._diagnosis.look(run.until(each)))

    def _read(self) -> Recorded | None:
        try:
            if self._reader is None:
                self._reader = RecordReader(self._folder, self._config)
            return self._reader.read()
        except (InputError, OSError):
            logger.exception("The run's records could not be read, so that it is not judged here")
            return None

    def _tell_all(self, found: list[Finding]) -> None:
        for each in found:
            if _identity(each) not in self._known:
                self._tell(each)


def _identity(finding: Finding) -> tuple[str, int, int | None]:
    return finding.key, finding.step, finding.cleared_at
