"""One engine and the requests waiting for it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, QThread, QTimer, Signal, Slot

from studio.engine.link import EngineLink
from studio.engine.messages import EngineDeath, EngineState
from training.protocol.messages import (
    DetachRequest,
    Done,
    EvaluateRequest,
    Finished,
    IfWindowDies,
    Interrupt,
    Ready,
    Refusal,
    Reply,
    Request,
)
from training.protocol.model_questions import ModelRequest

logger = logging.getLogger(__name__)

Listener = Callable[[Reply | EngineDeath], object]


@dataclass(eq=False)
class Ticket:
    """One request on its way. A canceled one is not sent any more, and its listener hears nothing.

    The last thing a listener hears is Finished, Done or a Refusal, or the engine's death.
    """

    request: Request
    listener: Listener
    canceled: bool = False

    def cancel(self) -> None:
        """Lose interest."""
        self.canceled = True


class EngineThread(QThread):
    """Listens to one engine until it ends; in place, it is the thread the engine works in.

    Signals:
        replied(Reply): one reply, in the order the engine gave them.
        ended(EngineDeath | None): the engine is gone; None when it was told to end.
    """

    replied = Signal(object)
    ended = Signal(object)

    def __init__(self, link: EngineLink, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.link = link

    def run(self) -> None:
        """The thread's work (called by Qt)."""
        self.ended.emit(self.link.run(self.replied.emit))


class EngineClient(QObject):
    """Talks to one engine: a request at a time, in order.

    Signals:
        state_changed(EngineState)
        died(EngineDeath): the engine ended without being told to; requests under way will not be answered.
        closed(): the engine is gone and its thread has ended; the client may be deleted.
    """

    state_changed = Signal(object)
    died = Signal(object)
    closed = Signal()

    def __init__(self, link: EngineLink, keep_training: bool = True, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.state = EngineState.STARTING
        self.info: Ready | None = None
        self.death: EngineDeath | None = None
        self._waiting: list[Ticket] = []
        self._current: Ticket | None = None
        self._current_id = 0
        self._last_id = 0
        self._handle_agreed: Callable[[], object] | None = None
        self._detach_id = 0
        self._closing = False
        self._thread = EngineThread(link, self)
        self._thread.replied.connect(self._on_reply)
        self._thread.ended.connect(self._on_ended)
        self._thread.finished.connect(self._on_thread_finished)
        self._thread.start()
        self.tell_if_window_dies(keep_training)

    @property
    def idle(self) -> bool:
        """Warm, and nothing to do."""
        return self.state is EngineState.READY and not self._waiting

    @property
    def doing(self) -> str:
        """The action of the request under way; "" where there is none."""
        return str(getattr(self._current.request, "action", "")) if self._current is not None else ""

    @property
    def in_process(self) -> bool:
        """Whether the engine works in a thread of this process."""
        return self._thread.link.in_process

    @property
    def thread_running(self) -> bool:
        """Whether the hosting thread still runs (a running QThread must never be deleted)."""
        return self._thread.isRunning()

    def submit(self, ticket: Ticket, *, first: bool = False) -> None:
        """Queue a request, whose listener hears each of its replies. ``first`` overtakes what is still waiting."""
        self._waiting.insert(0 if first else len(self._waiting), ticket)
        self._send_next()

    def interrupt(self, ticket: Ticket | None = None) -> None:
        """Let the engine stop working on ``ticket``, or on an evaluation or a question to a model whose place a run is to take; without
        effect where it does not. What it worked on is answered by a refusal."""
        current = self._current
        if current is None:
            return
        if current is ticket or (ticket is None and isinstance(current.request, EvaluateRequest | ModelRequest)):
            self._thread.link.send(Interrupt(target=self._current_id))

    def tell_if_window_dies(self, keep_training: bool) -> None:
        """What the engine does with a run when this process vanishes; one inside this process vanishes with it."""
        if not self._thread.link.in_process and not self._closing:
            self._thread.link.send(IfWindowDies(keep_training=keep_training))

    def detach(self, handle_agreed: Callable[[], object]) -> None:
        """Let the run under way go on without us; ``handle_agreed`` is called when the engine has agreed."""
        self._handle_agreed = handle_agreed
        self._last_id += 1
        self._detach_id = self._last_id
        self._thread.link.send(DetachRequest(id=self._detach_id))

    def close(self, terminate_after: int = 60_000, kill_after: int = 10_000) -> None:
        """Tell the engine to end; a run is stopped and kept. Times in milliseconds, for an engine that does not."""
        if self._closing:
            return
        self.interrupt()  # an evaluation that a thread works on would hold up its end
        self._closing = True
        self._drop_requests(EngineDeath("The engine was restarted."))
        idle = self.state in (EngineState.STARTING, EngineState.READY)
        self._thread.link.close()
        if idle:
            self._thread.link.kill()  # nothing to lose, and an orderly end would first finish loading torch
        elif not self._thread.link.in_process:
            QTimer.singleShot(terminate_after, self, self._terminate)
            QTimer.singleShot(terminate_after + kill_after, self, self.kill)

    @Slot()
    def kill(self) -> None:
        """End the engine at once, if it is still there."""
        if self._thread.isRunning():
            self._thread.link.kill()

    @Slot()
    def _terminate(self) -> None:
        if self._thread.isRunning():
            logger.warning("The engine did not end by itself and is terminated.")
            self._thread.link.terminate()

    def _send_next(self) -> None:
        if self.state is not EngineState.READY or self._closing:
            return
        while self._waiting:
            ticket = self._waiting.pop(0)
            if ticket.canceled:
                continue
            self._last_id += 1
            self._current, self._current_id = ticket, self._last_id
            self._set_state(EngineState.BUSY)
            self._thread.link.send(ticket.request.model_copy(update={"id": self._current_id}))
            return

    @Slot(object)
    def _on_reply(self, reply: Reply) -> None:
        if isinstance(reply, Ready):
            self.info = reply
            self._set_state(EngineState.READY)
            self._send_next()
        elif self._handle_agreed is not None and reply.id == self._detach_id:
            handle_agreed, self._handle_agreed = self._handle_agreed, None
            self._closing = True
            self._thread.link.detach()
            handle_agreed()
        elif self._current is not None and reply.id == self._current_id:
            ticket = self._current
            if isinstance(reply, Finished | Done | Refusal):
                self._current = None
                self._set_state(EngineState.READY)
            if not ticket.canceled:
                ticket.listener(reply)
            self._send_next()
        else:
            logger.info("The engine answered something nobody asked: %s", reply)

    @Slot(object)
    def _on_ended(self, death: EngineDeath | None) -> None:
        if self._closing or death is None:
            self._set_state(EngineState.CLOSED)
            return
        logger.warning("%s\n%s", death, death.log)
        self.death = death
        self._drop_requests(death)
        self._set_state(EngineState.DEAD)
        self.died.emit(death)

    def _drop_requests(self, death: EngineDeath) -> None:
        """Nobody will answer what is open; those who wait for it are told so."""
        tickets = [self._current] if self._current else []
        tickets += self._waiting
        self._current, self._waiting = None, []
        for ticket in tickets:
            if not ticket.canceled:
                ticket.listener(death)

    @Slot()
    def _on_thread_finished(self) -> None:
        self._thread.wait()  # "finished" is said a moment before the thread is gone; no longer than that
        self.closed.emit()

    def _set_state(self, state: EngineState) -> None:
        if state is not self.state:
            self.state = state
            self.state_changed.emit(state)
