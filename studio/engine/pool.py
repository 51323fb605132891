"""The engines themselves: the main one, the assistant, and those on their way out."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal, Slot

from studio.engine.client import EngineClient, Ticket
from studio.engine.link import EngineChoice, EngineLink
from studio.engine.messages import EngineDeath, EngineState

LinkFactory = Callable[[EngineChoice], EngineLink]

GONE = (EngineState.DEAD, EngineState.CLOSED)


class EnginePool(QObject):
    """Keeps one engine warm, makes a second one on demand, and lets none go before its thread has ended.

    Signals:
        state_changed(EngineState): of the main engine, also when it is another one now.
        main_died(EngineDeath): the main engine ended without being told to.
        emptied(): after ``shutdown``, every engine is gone.
    """

    state_changed = Signal(object)
    main_died = Signal(object)
    emptied = Signal()

    def __init__(
        self, choice: EngineChoice, make_link: LinkFactory, first_link: EngineLink | None, parent: QObject
    ) -> None:
        super().__init__(parent)
        self.choice = choice
        self.shutting_down = False
        self.keep_training = True
        self._make_link = make_link
        self._clients: list[EngineClient] = []  # all that have a thread, leaving ones included
        self._assistant: EngineClient | None = None
        self._made_for = choice  # what the main engine was chosen by
        self.main = self._new_client(first_link or make_link(choice))

    @property
    def threads_running(self) -> bool:
        """Whether any hosting thread still runs (a running QThread must never be destroyed)."""
        return any(client.thread_running for client in self._clients)

    @property
    def is_lent(self) -> bool:
        """Whether the main engine is another one than was chosen: that of a run which is gone on with."""
        return self._made_for != self.choice

    def restart(self, choice: EngineChoice | None = None) -> None:
        """A fresh main engine: the chosen one, or for a run another one."""
        self._replace_main(choice or self.choice)

    def renew(self) -> None:
        """Let the main engine go, and all GPU memory with it. The assistant cannot take its place: it stepped back for
        good."""
        self.rest()
        self._replace_main(self.choice)

    def live_main(self, choice: EngineChoice | None = None) -> EngineClient:
        """The main engine, restarted if it is gone, or is not of ``choice`` (the chosen one where none is given)."""
        if self.main.state in GONE or self._made_for != (choice or self.choice):
            self.restart(choice)
        return self.main

    def live_assistant(self) -> EngineClient:
        """The second engine, started if there is none; its loading and its work give way to the run."""
        if self._assistant is None or self._assistant.state in GONE:
            link = self._make_link(self.choice)
            link.preempt()
            self._assistant = self._new_client(link)
        return self._assistant

    def after_run(self, reusable: bool) -> None:
        """The run is over. An engine that is fit for the next one stays, warm and with its data; another makes room for
        a fresh one, and gives back its GPU memory with that."""
        if reusable and not self.is_lent:
            self.rest()
        else:
            self.renew()

    def rest(self) -> None:
        """The run is over: two engines are one too many, unless the second is just answering."""
        if self._assistant is not None and self._assistant.idle:
            self.retire_assistant()

    def retire_assistant(self) -> None:
        """The second engine is not wanted any more."""
        if self._assistant is not None:
            self._assistant.close()
            self._assistant = None

    def set_keep_training(self, keep_training: bool) -> None:
        """Whether a run goes on when this process vanishes; told to every engine."""
        self.keep_training = keep_training
        for client in self._clients:
            client.tell_if_window_dies(keep_training)

    def interrupt(self, ticket: Ticket) -> None:
        """Whichever engine works on ``ticket`` may stop."""
        for client in self._clients:
            client.interrupt(ticket)

    def shutdown(self) -> None:
        """End every engine; ``emptied`` follows."""
        self.shutting_down = True
        for client in list(self._clients):
            client.close()
        self._tell_when_empty()

    def kill(self) -> None:
        """End every engine at once."""
        for client in list(self._clients):
            client.kill()

    def _new_client(self, link: EngineLink) -> EngineClient:
        client = EngineClient(link, self.keep_training, self)
        self._clients.append(client)
        client.state_changed.connect(self._on_state_changed)
        client.died.connect(self._on_died)
        client.closed.connect(self._on_closed)
        return client

    def _replace_main(self, choice: EngineChoice) -> None:
        old, self.main, self._made_for = self.main, self._new_client(self._make_link(choice)), choice
        old.close()
        if not old.thread_running:
            self._forget(old)
        self.state_changed.emit(self.main.state)

    def _forget(self, client: EngineClient) -> None:
        if client in self._clients:
            self._clients.remove(client)
            client.deleteLater()

    def _tell_when_empty(self) -> None:
        if self.shutting_down and not self.threads_running:
            self.emptied.emit()

    @Slot(object)
    def _on_state_changed(self, state: EngineState) -> None:
        if self.sender() is self.main:
            self.state_changed.emit(state)

    @Slot(object)
    def _on_died(self, death: EngineDeath) -> None:
        if self.sender() is self.main and not self.shutting_down:
            self.main_died.emit(death)

    @Slot()
    def _on_closed(self) -> None:
        client = self.sender()
        if isinstance(client, EngineClient) and client is not self.main:
            self._forget(client)
        self._tell_when_empty()
