"""The engines of the window: one warm for the next run, a second one for previews while it trains."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError
from PySide6.QtCore import QObject, Signal, Slot

from studio.engine.client import Ticket
from studio.engine.link import EngineChoice, EngineLink
from studio.engine.messages import EngineDeath, EngineState
from studio.engine.pool import EnginePool, LinkFactory
from studio.engine.shared_run import SharedRun
from studio.services.logs import log_folder
from training.config.paths import with_own_folder
from training.protocol.answers import Answer
from training.protocol.messages import (
    BranchRequest,
    CheckRequest,
    DataQuestion,
    Done,
    EvaluationQuestion,
    ExportRequest,
    Finished,
    FitOneBatch,
    InspectDataset,
    MeasureRunTime,
    Progress,
    ReadSamples,
    Ready,
    Refusal,
    Reply,
    ResumeRequest,
    RunRequest,
    Settings,
    Started,
    SummarizeModel,
    TrainRequest,
    describe_fault,
    refuse_unreadable,
)
from training.protocol.model_questions import ModelQuestion
from training.runs.folder import RunFolder
from training.runs.records.forms import StatusRecord

logger = logging.getLogger(__name__)

AnswerT = TypeVar("AnswerT", bound=Answer)
HandleFailure = Callable[[Refusal], object]
ShowProgress = Callable[[str, float | None], object]

Inquiry = DataQuestion | SummarizeModel | CheckRequest | FitOneBatch | MeasureRunTime
"""A question about a configuration."""
_NewestOnly = InspectDataset | SummarizeModel | CheckRequest | FitOneBatch | MeasureRunTime
"""Those that are answered about the newest configuration alone. Of the others several are asked at a time, by two pages or twice by one."""


_TRAINS_INSIDE = Refusal(
    message="The engine is training inside this window.",
    advice="Wait until the run has ended, or switch off “Run the engine inside the window” in Preferences before the next one.",
)


class EngineHost(QObject):
    """Starts, drives and ends engines. Nobody above it knows whether they are processes or threads.

    Signals:
        state_changed(EngineState): of the engine the next run will take, or of the one that trains.
        run_started(Path): the run's folder.
        run_finished(StatusRecord): the run's status record.
        run_refused(Refusal): nothing was started.
        engine_died(EngineDeath): ``training`` is still true while this is said, if a run went with it.
        shut_down(): every engine is gone.
    """

    state_changed = Signal(object)
    run_started = Signal(object)
    run_finished = Signal(object)
    run_refused = Signal(object)
    engine_died = Signal(object)
    shut_down = Signal()

    def __init__(
        self,
        choice: EngineChoice,
        make_link: LinkFactory,
        first_link: EngineLink | None = None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._asked: dict[type, Ticket] = {}  # the newest of each type of ``_NewestOnly``
        self._run: Ticket | SharedRun | None = None
        self._pool = EnginePool(choice, make_link, first_link, self)
        self._pool.state_changed.connect(self.state_changed)
        self._pool.main_died.connect(self._on_main_died)
        self._pool.emptied.connect(self._tell_when_empty)

    # ---------------------------------------------------------------------------------------------- state

    @property
    def state(self) -> EngineState:
        """State of the main engine."""
        return self._pool.main.state

    @property
    def info(self) -> Ready | None:
        """What the main engine said about itself; None until it is warm."""
        return self._pool.main.info

    @property
    def death(self) -> EngineDeath | None:
        """Why there is no engine; None while there is one."""
        return self._pool.main.death

    @property
    def training(self) -> bool:
        """Whether a run was given to the engine and has not come back."""
        return self._run is not None

    @property
    def doing(self) -> str:
        """The action that the main engine carries out, such as "evaluate"; "" while it rests."""
        return self._pool.main.doing

    @property
    def in_process(self) -> bool:
        """Whether the engine works inside the window: it cannot be left behind, a run of its own has to be handed over."""
        return self._pool.main.in_process and self._shared is None

    @property
    def threads_running(self) -> bool:
        """Whether any hosting thread still runs, or processes of a run."""
        return self._pool.threads_running or (self._shared is not None and self._shared.at_work)

    @property
    def _shared(self) -> SharedRun | None:
        """The run under way that several processes share."""
        return self._run if isinstance(self._run, SharedRun) else None

    def choose(self, choice: EngineChoice) -> None:
        """Host the next engine differently; a run under way goes on where it is."""
        if choice == self._pool.choice:
            return
        self._pool.choice = choice
        self._pool.retire_assistant()
        if not self.training:
            self._pool.restart()

    def set_keep_training(self, keep_training: bool) -> None:
        """Whether a run goes on in the background when this process vanishes, or is stopped and kept."""
        self._pool.set_keep_training(keep_training)
        if self._shared is not None:
            self._shared.tell_if_window_dies(keep_training)

    @Slot()
    def restart(self) -> None:
        """A fresh main engine (after it died); without effect while one trains."""
        if not self.training:
            self._pool.restart()

    def shutdown(self) -> None:
        """End every engine; ``shut_down`` follows. A run under way is stopped and kept unless it was detached."""
        if self._shared is not None:
            self._shared.stop()
        self._pool.shutdown()

    def kill(self) -> None:
        """End every engine at once."""
        if self._shared is not None:
            self._shared.kill()
        self._pool.kill()

    # ----------------------------------------------------------------------------------------------- runs

    def run(self, config: Settings, workspace: Path) -> None:
        """Train ``config`` as a new run of ``workspace``."""
        self._start_run(RunRequest(config=with_own_folder(config), workspace=workspace))

    def branch(self, checkpoint: Path, config: Settings, workspace: Path) -> None:
        """A new run of ``config`` that starts from ``checkpoint``."""
        self._start_run(BranchRequest(checkpoint=checkpoint, config=with_own_folder(config), workspace=workspace))

    def resume(self, target: Path, overrides: Sequence[str] = (), python: str = "") -> None:
        """Continue a run from its newest good checkpoint, or from the given one; on the interpreter ``python`` where one is given,
        which no other run takes after it."""
        choice = EngineChoice(python) if python else None
        self._start_run(ResumeRequest(target=target, overrides=tuple(overrides)), choice)

    def share(self, folder: RunFolder, words: Sequence[str], count: int, python: str = "") -> None:
        """Train the run in ``folder`` in ``count`` processes of their own; ``words`` are for ``resume``, ``python`` is as for that."""
        if self._refuses_second():
            return
        self._run = run = SharedRun(python or self._pool.choice.python, log_folder(), self)
        run.begun.connect(lambda: self.run_started.emit(folder.path))
        run.ended.connect(self._on_shared_ended)
        self._pool.main.interrupt()
        run.begin(folder, words, count, keep_training=self._pool.keep_training)

    def detach(self, handle_agreed: Callable[[], object]) -> None:
        """Let the run go on without the window; ``handle_agreed`` is called when the engine has agreed."""
        if self._shared is not None:
            self._shared.let_go()
            self._run = None
            handle_agreed()
            return
        self._pool.main.detach(handle_agreed)

    def _start_run(self, request: TrainRequest, choice: EngineChoice | None = None) -> None:
        if self._refuses_second():
            return
        self._run = ticket = Ticket(request, self._on_run_reply)
        main = self._pool.live_main(choice)
        main.submit(ticket, first=True)
        main.interrupt()  # an evaluation goes on where it was, a run would wait for it

    def _refuses_second(self) -> bool:
        if self.training:
            self.run_refused.emit(Refusal(message="A run is being trained already.", advice="Stop it first."))
        return self.training

    @Slot(object)
    def _on_shared_ended(self, end: Refusal | StatusRecord | EngineDeath) -> None:
        if isinstance(end, EngineDeath):
            self.engine_died.emit(end)
        self._run = None
        if isinstance(end, Refusal):
            self.run_refused.emit(end)
        elif isinstance(end, StatusRecord):
            self.run_finished.emit(end)
        self.state_changed.emit(self.state)
        self._tell_when_empty()

    @Slot()
    def _tell_when_empty(self) -> None:
        if self._pool.shutting_down and not self.threads_running:
            self.shut_down.emit()

    def _on_run_reply(self, reply: Reply | EngineDeath) -> None:
        if isinstance(reply, Started):
            self.run_started.emit(reply.folder)
        elif isinstance(reply, Refusal):
            self._run = None
            self.run_refused.emit(reply)
            if self._pool.is_lent:
                self.restart()
        elif isinstance(reply, Finished):
            self._run = None
            self.run_finished.emit(reply.result)
            if not self._pool.choice.in_process and not self._pool.shutting_down:
                self._pool.after_run(reply.reusable)

    @Slot(object)
    def _on_main_died(self, death: EngineDeath) -> None:
        was_warm = self.info is not None
        if self._shared is None:
            self.engine_died.emit(death)
            self._run = None
        self.state_changed.emit(self.state)
        # One that never became warm would only die again; the person chooses when to try once more.
        if (was_warm or self._pool.is_lent) and self.state is EngineState.DEAD:
            self._pool.restart()

    # ------------------------------------------------------------------------------------------ inquiries

    def ask(
        self,
        request: Inquiry | ReadSamples | ExportRequest | EvaluationQuestion | ModelQuestion,
        answer_type: type[AnswerT],
        handle_result: Callable[[AnswerT], object],
        handle_failure: HandleFailure,
        show_progress: ShowProgress | None = None,
    ) -> Ticket:
        """Have a request carried out that trains nothing; its answer is an ``answer_type``."""

        def on_reply(reply: Reply | EngineDeath) -> None:
            if isinstance(reply, Done):
                try:
                    answer = answer_type.model_validate(reply.result)
                except ValidationError as error:
                    handle_failure(refuse_unreadable(describe_fault(error)))
                else:
                    handle_result(answer)
            elif isinstance(reply, Refusal):
                handle_failure(reply)
            elif isinstance(reply, EngineDeath):
                self._refuse_for(reply, handle_failure)
            elif isinstance(reply, Progress) and show_progress is not None:
                show_progress(reply.text, reply.fraction)

        ticket = Ticket(request, on_reply)
        if isinstance(request, Inquiry):
            ticket.request = request.model_copy(update={"config": with_own_folder(request.config)})
        if isinstance(request, _NewestOnly):
            _cancel_older(self._asked, ticket)
        trains = isinstance(self._run, Ticket)  # this engine, and not processes beside it
        if trains and self._pool.choice.in_process:
            handle_failure(_TRAINS_INSIDE)
            return ticket
        client = self._pool.live_assistant() if trains else self._pool.main
        if client.death is not None:
            handle_failure(refuse_for(client.death))
        else:
            client.submit(ticket)
        return ticket

    def _refuse_for(self, death: EngineDeath, handle_failure: HandleFailure) -> None:
        if not self._pool.shutting_down:  # else the window closes, and nothing is wrong
            handle_failure(refuse_for(death))

    def interrupt(self, ticket: Ticket) -> None:
        """Nobody waits for the answer any more, and the engine that works on it may stop."""
        ticket.cancel()
        self._pool.interrupt(ticket)


def refuse_for(death: EngineDeath) -> Refusal:
    """What those hear who asked an engine that is gone."""
    return Refusal(message=death.sentence, advice=death.advice)


def _cancel_older(asked: dict[type, Ticket], ticket: Ticket) -> None:
    older = asked.get(type(ticket.request))
    if older is not None:
        older.cancel()
    asked[type(ticket.request)] = ticket
