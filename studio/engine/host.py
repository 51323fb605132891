"""The engines of the window: one kept warm for the next run, a second one for previews while it trains."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from studio.engine.client import EngineClient, Ticket
from studio.engine.link import EngineChoice, EngineLink, Reply
from studio.engine.messages import EngineDeath, EngineInfo, EngineState, Refusal, refusal_from

logger = logging.getLogger(__name__)

LinkFactory = Callable[[EngineChoice], EngineLink]
Done = Callable[[dict[str, Any]], object]
Failed = Callable[[Refusal], object]
Progress = Callable[[str, float | None], object]

_SUPERSEDABLE = frozenset({"inspect_dataset", "summarise_model", "check"})


class Inquiry:
    """A question asked; ``cancel`` when the answer is no longer wanted."""

    def __init__(self) -> None:
        self.ticket: Ticket | None = None
        self.over = False

    def cancel(self) -> None:
        """The callbacks are not called any more."""
        self.over = True
        if self.ticket is not None:
            self.ticket.cancel()


class EngineHost(QObject):
    """Starts, drives and ends engines. Nobody above it knows whether they are processes or threads.

    Signals:
        state_changed(EngineState): of the engine the next run will take, or of the one that trains.
        run_started(Path): the run's folder.
        run_finished(dict): the run's status record.
        run_refused(Refusal): nothing was started.
        engine_died(EngineDeath): while it was warming up or at work; ``training`` tells which, until the next request.
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
        self._choice = choice
        self._make_link = make_link
        self._clients: list[EngineClient] = []  # all that have a thread, leaving ones included
        self._open_inquiries: dict[str, Inquiry] = {}
        self._run: Ticket | None = None
        self._assistant: EngineClient | None = None
        self._shutting_down = False
        self._main = self._new_client(first_link)

    # ---------------------------------------------------------------------------------------------- state

    @property
    def state(self) -> EngineState:
        """State of the main engine."""
        return self._main.state

    @property
    def info(self) -> EngineInfo | None:
        """What the main engine said about itself; None until it is warm."""
        return self._main.info

    @property
    def death(self) -> EngineDeath | None:
        """Why there is no engine; None while there is one."""
        return self._main.death

    @property
    def training(self) -> bool:
        """Whether a run was given to the engine and has not come back."""
        return self._run is not None

    def choose(self, choice: EngineChoice) -> None:
        """Host the next engine differently; a run under way goes on where it is."""
        if choice == self._choice:
            return
        self._choice = choice
        self._retire_assistant()
        if not self.training:
            self.restart()

    @Slot()
    def restart(self) -> None:
        """A fresh main engine (after it died, or another interpreter was chosen)."""
        self._replace_main(self._new_client(None))

    def _replace_main(self, client: EngineClient) -> None:
        old, self._main = self._main, client
        old.close()
        if not old.thread_running:
            self._forget(old)
        self.state_changed.emit(self._main.state)

    # ----------------------------------------------------------------------------------------------- runs

    def run(self, config: Mapping[str, Any], workspace: Path) -> None:
        """Train ``config`` as a new run of ``workspace``."""
        self._start_run({"action": "run", "config": dict(config), "workspace": str(workspace), "parent": None})

    def branch(self, checkpoint: Path, config: Mapping[str, Any], workspace: Path) -> None:
        """A new run of ``config`` that starts from ``checkpoint``."""
        request = {
            "action": "branch",
            "checkpoint": str(checkpoint),
            "config": dict(config),
            "workspace": str(workspace),
        }
        self._start_run(request)

    def resume(self, target: Path, overrides: Sequence[str] = ()) -> None:
        """Continue a run from its newest good checkpoint, or from the given one."""
        self._start_run({"action": "resume", "target": str(target), "overrides": list(overrides)})

    @property
    def can_detach(self) -> bool:
        """Whether the run under way could go on without the window."""
        return self.training and not self._choice.in_process

    def detach(self, done: Callable[[], object]) -> None:
        """Let the run go on without the window; ``done`` is called when the engine has agreed."""
        self._main.detach(done)

    def _start_run(self, request: Mapping[str, Any]) -> None:
        if self._run is not None:
            self.run_refused.emit(Refusal("A run is being trained already.", "Stop it first."))
            return
        if self._main.state in (EngineState.DEAD, EngineState.CLOSED):
            self.restart()
        self._run = self._main.submit(request, self._on_run_reply, first=True)

    def _on_run_reply(self, reply: Reply) -> None:
        kind = reply["reply"]
        if kind == "started":
            self.run_started.emit(Path(str(reply["folder"])))
            return
        if kind not in ("finished", "refused"):
            return
        self._run = None
        if kind == "refused":
            self.run_refused.emit(refusal_from(reply))
            return
        self.run_finished.emit(dict(reply.get("result") or {}))
        self._renew()

    def _renew(self) -> None:
        """After a run its process goes, and all GPU memory with it; the assistant, if any, is warm already."""
        if self._choice.in_process or self._shutting_down:
            return
        fresh, self._assistant = self._assistant, None
        if fresh is None or fresh.state in (EngineState.DEAD, EngineState.CLOSED):
            fresh = self._new_client(None)
        self._replace_main(fresh)

    # ------------------------------------------------------------------------------------------ inquiries

    def inspect_dataset(
        self, config: Mapping[str, Any], done: Done, failed: Failed, progress: Progress | None = None
    ) -> Inquiry:
        """What the dataset of ``config`` holds: classes, counts, files left out, thumbnails."""
        return self._ask({"action": "inspect_dataset", "config": dict(config)}, done, failed, progress)

    def summarise_model(
        self, config: Mapping[str, Any], done: Done, failed: Failed, progress: Progress | None = None
    ) -> Inquiry:
        """Layers and parameter counts of the model of ``config``."""
        return self._ask({"action": "summarise_model", "config": dict(config)}, done, failed, progress)

    def check(self, config: Mapping[str, Any], done: Done, failed: Failed, progress: Progress | None = None) -> Inquiry:
        """Findings about ``config`` before anything is trained."""
        return self._ask({"action": "check", "config": dict(config)}, done, failed, progress)

    def export(
        self, checkpoint: Path, to: str, out: Path, done: Done, failed: Failed, progress: Progress | None = None
    ) -> Inquiry:
        """Write the model of ``checkpoint`` to ``out``, reload it there and compare."""
        request = {"action": "export", "checkpoint": str(checkpoint), "to": to, "out": str(out)}
        return self._ask(request, done, failed, progress)

    def _ask(self, request: Mapping[str, Any], done: Done, failed: Failed, progress: Progress | None) -> Inquiry:
        action = str(request["action"])
        inquiry = Inquiry()
        if action in _SUPERSEDABLE:
            older = self._open_inquiries.get(action)
            if older is not None:
                older.cancel()
            self._open_inquiries[action] = inquiry
        client = self._client_for_inquiries()
        if client is None:
            failed(Refusal("The engine is training inside this window.", "Previews come back when the run has ended."))
            return inquiry

        def on_reply(reply: Reply) -> None:
            if inquiry.over:
                return
            kind = reply["reply"]
            if kind == "progress":
                if progress is not None:
                    progress(str(reply.get("text", "")), reply.get("fraction"))
                return
            inquiry.over = True
            if kind == "done":
                done(dict(reply.get("result") or {}))
            else:
                failed(refusal_from(reply))

        inquiry.ticket = client.submit(request, on_reply)
        return inquiry

    def _client_for_inquiries(self) -> EngineClient | None:
        if not self.training:
            if self._main.state in (EngineState.DEAD, EngineState.CLOSED):
                self.restart()
            return self._main
        if self._choice.in_process:
            return None
        if self._assistant is None or self._assistant.state in (EngineState.DEAD, EngineState.CLOSED):
            self._assistant = self._new_client(None)
        return self._assistant

    # ------------------------------------------------------------------------------------- life and death

    def shutdown(self) -> None:
        """End every engine; ``shut_down`` follows. A run under way is stopped and kept unless it was detached."""
        self._shutting_down = True
        for client in list(self._clients):
            client.close()
        self._tell_when_gone()

    def kill(self) -> None:
        """End every engine at once."""
        for client in list(self._clients):
            client.kill()

    @property
    def threads_running(self) -> bool:
        """Whether any hosting thread still runs."""
        return any(client.thread_running for client in self._clients)

    def _new_client(self, link: EngineLink | None) -> EngineClient:
        client = EngineClient(link or self._make_link(self._choice), self)
        self._clients.append(client)
        client.state_changed.connect(self._on_client_state)
        client.died.connect(self._on_client_died)
        client.closed.connect(self._on_client_closed)
        return client

    def _retire_assistant(self) -> None:
        if self._assistant is not None:
            self._assistant.close()
            self._assistant = None

    @Slot(object)
    def _on_client_state(self, state: EngineState) -> None:
        if self.sender() is self._main:
            self.state_changed.emit(state)

    @Slot(object)
    def _on_client_died(self, death: EngineDeath) -> None:
        if self.sender() is not self._main or self._shutting_down:
            return
        was_warm = self._main.info is not None
        self._run = None
        self.engine_died.emit(death)
        # One that never became warm would only die again; the person chooses when to try once more.
        if was_warm and self._main.state is EngineState.DEAD:
            self.restart()

    @Slot()
    def _on_client_closed(self) -> None:
        client = self.sender()
        if isinstance(client, EngineClient) and client is not self._main:
            self._forget(client)
        self._tell_when_gone()

    def _forget(self, client: EngineClient) -> None:
        if client in self._clients:
            self._clients.remove(client)
            client.deleteLater()

    def _tell_when_gone(self) -> None:
        if self._shutting_down and not self.threads_running:
            self.shut_down.emit()
