"""What is said of the engine beside the pages: at the start that there is none that works, or that it leaves a GPU unused; later that a run
was trained with another one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Slot

from studio.engine.messages import EngineState
from studio.state.context import AppContext
from studio.widgets import Banner
from studio.window.run_engine import ask_for_engine
from studio.window.start_notices import StartNotices
from training.engines.kinds import KINDS, Machine, look_at_this_machine

ENGINES = "Engines"
"""The section of the engines in the preferences."""
_OWNERS = {"cuda": "an NVIDIA GPU", "rocm": "an AMD GPU", "apple": "an Apple GPU"}


class EngineNotice(QObject):
    """Says it in one sentence with a button, and takes it back when it is not so any more. The person can put it away for good."""

    def __init__(self, context: AppContext, notices: StartNotices, show_preferences: Callable[[str], object]) -> None:
        super().__init__(notices)
        self._context, self._notices, self._show_preferences = context, notices, show_preferences
        self._machine: Machine | None = None
        self._banner: Banner | None = None
        self._is_of_death = False
        context.engine.state_changed.connect(self._on_state)
        context.engines_asked.connect(lambda: show_preferences(ENGINES))
        context.engine_needed.connect(partial(ask_for_engine, context, notices))
        self._on_state()

    @Slot()
    def _on_state(self) -> None:
        engine = self._context.engine
        if engine.state is EngineState.DEAD and engine.info is None:
            self._tell_of_death()
        elif engine.state is EngineState.READY and engine.info is not None:
            if self._is_of_death:
                self._put_away()
            if any(device != "cpu" for device in engine.info.devices):
                self._put_away()
            elif not self._context.settings.get().gpu_left_alone:
                self._tell_of_gpu(engine.info.torch)

    def _tell_of_death(self) -> None:
        death = self._context.engine.death
        if death is not None and not self._is_of_death:
            self._put_away()
            self._is_of_death = True
            self._show(Banner("danger", "Nothing can be trained", death.sentence))

    def _tell_of_gpu(self, torch: str) -> None:
        self._machine = self._machine or look_at_this_machine()
        owner = _OWNERS.get(self._machine.best)
        if owner is None or self._banner is not None:
            return
        title = KINDS[self._machine.best].title
        banner = Banner(
            "info",
            f"This machine has {owner}, and training uses the CPU",
            f"The engine's PyTorch {torch} finds no GPU that it can use. Choose an engine that does, or install the one for {title}.",
        )
        banner.closed.connect(lambda: self._context.settings.update(gpu_left_alone=True))
        self._show(banner)

    def _show(self, banner: Banner) -> None:
        banner.add_action("Engines …", lambda: self._show_preferences(ENGINES), variant="primary")
        self._banner = banner
        self._notices.add(banner)

    def _put_away(self) -> None:
        self._is_of_death = False
        if self._banner is not None:
            self._banner.hide()
            self._banner = None
            self._notices.fold()
