"""The engines of this machine as the window knows them: looked at, tried, installed and removed in the background."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from studio.services.background import Background
from studio.services.settings import SettingsStore
from studio.state.context import AppContext
from training.engines.answer import Answer
from training.engines.change import add_engine, remove_engine
from training.engines.install import Installed, Unfinished, discard, install, list_unfinished
from training.engines.of_runs import require_rest
from training.engines.overview import Engine, find_interpreter, look_at, look_at_engines
from training.engines.request import Progress, Request
from training.engines.search import Found, identify
from training.engines.trial import judge_engine, try_and_keep
from training.errors import Canceled, InputError
from training.queue.of_engines import Dependents, name_dependents
from training.system.interpreter import own_interpreter

logger = logging.getLogger(__name__)


class Engines(QObject):
    """Made when somebody asks for engines; nothing looks at the machine before.

    Signals:
        changed(): what is known is another, or something began or ended.
        progressed(): an installation came further.
        installed(Installed): there is one more.
        added(str): that one, as it was typed, is listed.
    """

    changed, progressed, installed, added = Signal(), Signal(), Signal(object), Signal(str)
    _reported = Signal(object)

    def __init__(
        self, workspace: Path, settings: SettingsStore, background: Background, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._workspace, self._settings, self._background = workspace, settings, background
        self._looker, self._trier, self._installer = (background.make_other() for _ in range(3))
        self.engines: list[Engine] = []
        self.unfinished: list[Unfinished] = []
        self.is_loaded = False
        self.trying: set[str] = set()  # the interpreters that are tried, or wait for it
        self.request: Request | None = None  # of the installation under way
        self.progress = Progress()
        self.problem = ""  # why the last change of the list came to nothing
        self.install_problem = ""  # why the last installation, or its discarding, did
        self.told = ""  # what the last installation has to say
        self._is_canceled = False
        self._reported.connect(self._on_reported)

    @property
    def chosen(self) -> str:
        """The interpreter that the next engine works on; "" where there is none."""
        return self._settings.get().interpreter

    def is_chosen(self, engine: Engine) -> bool:
        """Whether it is that one."""
        return bool(self.chosen) and identify(engine.python) == identify(self.chosen)

    def choose(self, engine: Engine) -> None:
        """Let the next run be trained by it; one under way goes on where it is."""
        own = bool(own_interpreter()) and identify(engine.python) == identify(own_interpreter())
        self._settings.update(engine_python="" if own else engine.python)
        self.changed.emit()

    def refresh(self) -> None:
        """Look at all of them again, and try those of which nothing is known."""
        self._looker.submit(_look, self._on_looked, self._on_failed)

    def try_again(self, python: str) -> None:
        """Have one tried, whatever is known of it."""
        if python in self.trying:
            return
        self.trying.add(python)
        self._trier.submit(
            partial(try_and_keep, python, lambda: self._background.is_closed),
            partial(self._on_tried, python),
            partial(self._on_not_tried, python),
        )
        self.changed.emit()

    def add(self, text: str) -> None:
        """Have the interpreter or environment ``text`` listed, and tried."""
        self._change(lambda: add_engine(find_interpreter(text)), lambda: self.added.emit(text))

    def remove(self, engine: Engine) -> None:
        """Delete one that was installed, or forget one that was added."""
        self._change(partial(_remove, engine.found, self._workspace))

    def discard(self, name: str) -> None:
        """Delete what there is of an unfinished one."""
        self.install_problem = self.told = ""
        self._looker.submit(partial(discard, name), lambda _: self.refresh(), self._on_not_discarded)

    def forget_problem(self) -> None:
        """The list was left, and its sentence with it."""
        self.problem = ""
        self.changed.emit()

    def find_dependents(self, engine: Engine, handle_them: Callable[[Dependents], object]) -> None:
        """Tell which runs need it."""
        self._looker.submit(partial(name_dependents, engine.found, self._workspace), handle_them, self._on_failed)

    def install(self, request: Request) -> None:
        """Begin an installation, or go on with one; one at a time."""
        if self.request is not None:
            return
        self.request, self.progress, self._is_canceled = request, Progress(), False
        self.install_problem = self.told = ""
        work = partial(install, request, self._reported.emit, self._is_given_up, anyway=True)
        self._installer.submit(work, self._on_installed, self._on_not_installed)
        self.changed.emit()

    def cancel(self) -> None:
        """End the installation; what was downloaded is kept."""
        self._is_canceled = True
        self.changed.emit()

    @property
    def is_canceling(self) -> bool:
        """Whether it is about to end."""
        return self._is_canceled and self.request is not None

    def _is_given_up(self) -> bool:
        """Asked by another thread."""
        return self._is_canceled or self._background.is_closed

    def _change(self, work: Callable[[], object], handle_done: Callable[[], object] = lambda: None) -> None:
        self.problem = self.told = ""

        def go_on(_: object) -> None:
            handle_done()
            self.refresh()

        self._looker.submit(work, go_on, self._on_failed)

    def _on_looked(self, found: tuple[list[Engine], list[Unfinished]]) -> None:
        self.engines, self.unfinished = found
        chosen = self._settings.get().engine_python
        if chosen and not any(self.is_chosen(each) for each in self.engines):  # it may be gone
            self.engines.insert(0, _make_missing(chosen))
        self.is_loaded = True
        for engine in self.engines:
            if engine.answer is None and engine.verdict is None:
                self.try_again(engine.python)
        self.changed.emit()

    def _on_tried(self, python: str, _: object) -> None:
        self.trying.discard(python)
        self.refresh()

    def _on_not_tried(self, python: str, error: Exception) -> None:
        self.trying.discard(python)
        self._on_failed(error)

    def _on_reported(self, progress: Progress) -> None:
        self.progress = progress
        self.progressed.emit()

    def _on_installed(self, made: Installed) -> None:
        self.request, self.told = None, made.told
        self.installed.emit(made)
        self.refresh()

    def _on_not_installed(self, error: Exception) -> None:
        self.request = None
        if not isinstance(error, Canceled):
            self.install_problem = str(error)
            if not isinstance(error, InputError):
                logger.error("An engine could not be installed.", exc_info=error)
        self.refresh()

    def _on_not_discarded(self, error: Exception) -> None:
        self.install_problem = str(error)
        self.changed.emit()

    def _on_failed(self, error: Exception) -> None:
        self.problem = str(error)
        self.changed.emit()


def engines_of(context: AppContext) -> Engines:
    """Those of a window, made when they are asked for first; an installation goes on when nobody shows them."""
    made = context.findChild(Engines)
    return made or Engines(context.workspace, context.settings, context.background, context)


def _look() -> tuple[list[Engine], list[Unfinished]]:
    return look_at_engines(), list_unfinished()


def _remove(found: Found, workspace: Path) -> None:
    require_rest(found, workspace)
    remove_engine(found)


def _make_missing(python: str) -> Engine:
    """The one that was chosen, which no look finds: it is gone, or lies where nobody looks."""
    found = Found(python, "added", Path(python).parent.parent.name or python)
    if Path(python).is_file():
        return look_at(found)
    return Engine(found, None, judge_engine(python, Answer(), []))
