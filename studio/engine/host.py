"""The engines of the window: one warm for the next run, a second one for previews while it trains."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

from PySide6.QtCore import QObject, Signal, Slot

from studio.engine.client import Ticket
from studio.engine.link import EngineChoice, EngineLink, Reply
from studio.engine.messages import EngineDeath, EngineInfo, EngineState, Refusal, refusal_from
from studio.engine.pool import EnginePool, LinkFactory
from training.config.paths import with_own_folder

logger = logging.getLogger(__name__)

Done = Callable[[dict[str, Any]], object]
Failed = Callable[[Refusal], object]
Progress = Callable[[str, float | None], object]

About = Literal["inspect_dataset", "summarise_model", "check"]
"""What an engine can tell of a run: what its data holds, the layers of its model, and findings about all of it."""

_SUPERSEDABLE = frozenset(get_args(About))


class EngineHost(QObject):
    """Starts, drives and ends engines. Nobody above it knows whether they are processes or threads.

    Signals:
        state_changed(EngineState): of the engine the next run will take, or of the one that trains.
        run_started(Path): the run's folder.
        run_finished(dict): the run's status record.
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
        self._asked: dict[str, Ticket] = {}  # the newest of each action
        self._run: Ticket | None = None
        self._pool = EnginePool(choice, make_link, first_link, self)
        self._pool.state_changed.connect(self.state_changed)
        self._pool.main_died.connect(self._on_main_died)
        self._pool.emptied.connect(self.shut_down)

    # ---------------------------------------------------------------------------------------------- state

    @property
    def state(self) -> EngineState:
        """State of the main engine."""
        return self._pool.main.state

    @property
    def info(self) -> EngineInfo | None:
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
    def in_process(self) -> bool:
        """Whether the engine works inside the window: it cannot be left behind, a run of its own has to be handed over."""
        return self._pool.main.in_process

    @property
    def threads_running(self) -> bool:
        """Whether any hosting thread still runs."""
        return self._pool.threads_running

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

    @Slot()
    def restart(self) -> None:
        """A fresh main engine (after it died); without effect while one trains."""
        if not self.training:
            self._pool.restart()

    def shutdown(self) -> None:
        """End every engine; ``shut_down`` follows. A run under way is stopped and kept unless it was detached."""
        self._pool.shutdown()

    def kill(self) -> None:
        """End every engine at once."""
        self._pool.kill()

    # ----------------------------------------------------------------------------------------------- runs

    def run(self, config: Mapping[str, Any], workspace: Path) -> None:
        """Train ``config`` as a new run of ``workspace``."""
        self._start_run(
            {"action": "run", "config": with_own_folder(config), "workspace": str(workspace), "parent": None}
        )

    def branch(self, checkpoint: Path, config: Mapping[str, Any], workspace: Path) -> None:
        """A new run of ``config`` that starts from ``checkpoint``."""
        request = {
            "action": "branch",
            "checkpoint": str(checkpoint),
            "config": with_own_folder(config),
            "workspace": str(workspace),
        }
        self._start_run(request)

    def resume(self, target: Path, overrides: Sequence[str] = ()) -> None:
        """Continue a run from its newest good checkpoint, or from the given one."""
        self._start_run({"action": "resume", "target": str(target), "overrides": list(overrides)})

    def detach(self, done: Callable[[], object]) -> None:
        """Let the run go on without the window; ``done`` is called when the engine has agreed."""
        self._pool.main.detach(done)

    def _start_run(self, request: Mapping[str, Any]) -> None:
        if self._run is not None:
            self.run_refused.emit(Refusal("A run is being trained already.", "Stop it first."))
            return
        self._run = Ticket(request, self._on_run_reply)
        self._pool.live_main().submit(self._run, first=True)

    def _on_run_reply(self, reply: Reply) -> None:
        kind = reply["reply"]
        if kind == "started":
            self.run_started.emit(Path(str(reply["folder"])))
        elif kind == "refused":
            self._run = None
            self.run_refused.emit(refusal_from(reply))
        elif kind == "finished":
            self._run = None
            self.run_finished.emit(dict(reply.get("result") or {}))
            if not self._pool.choice.in_process and not self._pool.shutting_down:
                self._pool.after_run(bool(reply.get("reusable")))

    @Slot(object)
    def _on_main_died(self, death: EngineDeath) -> None:
        was_warm = self.info is not None
        self.engine_died.emit(death)
        self._run = None
        self.state_changed.emit(self.state)
        # One that never became warm would only die again; the person chooses when to try once more.
        if was_warm and self.state is EngineState.DEAD:
            self._pool.restart()

    # ------------------------------------------------------------------------------------------ inquiries

    def ask(
        self, about: About, config: Mapping[str, Any], done: Done, failed: Failed, progress: Progress | None = None
    ) -> Ticket:
        """What is known ``about`` the run of ``config`` before it begins."""
        return self._ask({"action": about, "config": with_own_folder(config)}, done, failed, progress)

    def export(
        self,
        checkpoint: Path,
        to: str,
        out: Path,
        done: Done,
        failed: Failed,
        progress: Progress | None = None,
        *,
        large_data: bool = False,
    ) -> Ticket:
        """Write the model of ``checkpoint`` to ``out``, reload it there and compare. ``large_data`` lets a script have many
        samples beside it."""
        request = {
            "action": "export",
            "checkpoint": str(checkpoint),
            "to": to,
            "out": str(out),
            "large_data": large_data,
        }
        return self._ask(request, done, failed, progress)

    def _ask(self, request: Mapping[str, Any], done: Done, failed: Failed, progress: Progress | None) -> Ticket:
        def on_reply(reply: Reply) -> None:
            kind = reply["reply"]
            if kind == "done":
                done(dict(reply.get("result") or {}))
            elif kind != "progress":
                failed(refusal_from(reply))
            elif progress is not None:
                progress(str(reply.get("text", "")), reply.get("fraction"))

        ticket, action = Ticket(request, on_reply), str(request["action"])
        if action in _SUPERSEDABLE:
            if action in self._asked:
                self._asked[action].cancel()
            self._asked[action] = ticket
        if self.training and self._pool.choice.in_process:
            failed(Refusal("The engine is training inside this window.", "Previews come back when the run has ended."))
            return ticket
        client = self._pool.live_assistant() if self.training else self._pool.main
        if client.death is not None:
            failed(Refusal(client.death.sentence, client.death.advice))
        else:
            client.submit(ticket)
        return ticket
