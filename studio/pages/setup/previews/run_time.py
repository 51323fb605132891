"""How long the run that is being prepared will take: measured by the engine, by itself where that is quick."""

from __future__ import annotations

import math

from PySide6.QtCore import QObject, QTimer, Signal

from studio.engine.client import Ticket
from studio.pages.setup.previews.preview_model import PreviewModel
from studio.state.context import AppContext
from training.config import RunConfig
from training.protocol.answers import MaybeRunTime, RunTime
from training.protocol.messages import MeasureRunTime

REST = 1500  # milliseconds after the last edit and the last preview
_QUICK_BYTES = 2**27  # of samples as float32: opening them takes a moment
_PATIENCE = 0.5  # seconds of a first step; a run that is started meanwhile waits for it


class RunTimeQuery(QObject):
    """Signals: `changed()` when ``run_time`` is another one, or none."""

    changed = Signal()

    def __init__(self, context: AppContext, previews: PreviewModel, parent: QObject, *, rest: int = REST) -> None:
        super().__init__(parent)
        self.run_time: RunTime | None = None
        self._context, self._previews = context, previews
        self._ticket: Ticket | None = None
        self._asked: RunConfig | None = None
        self._rest = QTimer(self, singleShot=True, interval=rest)
        self._rest.timeout.connect(self._ask)
        for signal in (context.draft.edited, context.draft.kind_changed, context.draft.replaced):
            signal.connect(self._withdraw)
        previews.changed.connect(self._wait)

    def set_measured(self, run_time: RunTime | None) -> None:
        """Take what a check has measured."""
        self._forget_ticket()
        self.run_time = run_time
        self.changed.emit()

    def stop(self) -> None:
        """Nobody looks: ask for nothing."""
        self._rest.stop()

    def _withdraw(self) -> None:
        if self.run_time is not None or self._ticket is not None:
            self.set_measured(None)

    def _wait(self) -> None:
        if self.run_time is None and self._ticket is None and self._is_quick():
            self._rest.start()
        else:
            self._rest.stop()

    def _is_quick(self) -> bool:
        config, data, model = self._context.draft.config(), self._previews.dataset, self._previews.model
        if (
            config is None
            or config == self._asked
            or config.precision.compile != "off"
            or self._context.start_problem()
        ):
            return False
        if data.answer is None or model.answer is None or not (data.in_step and model.in_step):
            return False
        return 4 * sum(data.answer.samples.values()) * math.prod(data.answer.shape) <= _QUICK_BYTES

    def _ask(self) -> None:
        config = self._context.draft.config()
        if config is not None and self._is_quick():
            self._asked = config
            request = MeasureRunTime(config=config.model_dump(mode="json"), patience=_PATIENCE)
            self._ticket = self._context.engine.ask(
                request,
                MaybeRunTime,
                lambda answer: self.set_measured(answer.run_time),
                lambda refusal: self._forget_ticket(),  # the check tells what is wrong
            )

    def _forget_ticket(self) -> None:
        if self._ticket is not None:
            self._ticket.cancel()
            self._ticket = None
