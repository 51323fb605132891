"""One question to the engine at a time, of which nobody waits for an older one."""

from __future__ import annotations

from collections.abc import Callable

from studio.engine.client import Ticket
from studio.engine.host import AnswerT, EngineHost, HandleFailure, Inquiry, ShowProgress
from training.protocol.messages import Refusal


class Asker:
    """Asks ``engine``; an answer that nobody waits for any more is dropped."""

    def __init__(self, engine: EngineHost) -> None:
        self.waiting = False
        self._engine = engine
        self._ticket: Ticket | None = None
        self._serial = 0

    def ask(
        self,
        request: Inquiry,
        answer_type: type[AnswerT],
        handle_result: Callable[[AnswerT], object],
        handle_failure: HandleFailure,
        show_progress: ShowProgress | None = None,
    ) -> None:
        """As ``EngineHost.ask``. Where the engine cannot be asked, ``handle_failure`` is called at once."""
        self.forget()
        self.waiting = True
        serial = self._serial

        def take(answer: AnswerT) -> None:
            if serial == self._serial:
                self._end()
                handle_result(answer)

        def refuse(refusal: Refusal) -> None:
            if serial == self._serial:
                self._end()
                handle_failure(refusal)

        def tell(text: str, fraction: float | None) -> None:
            if serial == self._serial and show_progress is not None:
                show_progress(text, fraction)

        ticket = self._engine.ask(request, answer_type, take, refuse, tell)
        if serial == self._serial and self.waiting:
            self._ticket = ticket

    def forget(self) -> None:
        """Nobody waits for the answer any more, and the engine may stop working on it."""
        if self._ticket is not None:
            self._engine.interrupt(self._ticket)
        self._serial += 1
        self._end()

    def _end(self) -> None:
        self._ticket, self.waiting = None, False
