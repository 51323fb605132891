"""With which engine a run goes on: its own, where the person has not chosen another one since."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from studio.engine.host import EngineHost
from studio.services.background import Background
from studio.services.settings import SettingsStore
from training.engines.of_runs import RunEngine, find_run_engine
from training.engines.search import identify
from training.runs.folder import RunFolder


class RunEngineQuery:
    """Finds out, in the background, whether a run is of the engine in use; where it is not, ``ask`` is told, and goes on itself."""

    def __init__(
        self,
        settings: SettingsStore,
        engine: EngineHost,
        background: Background,
        ask: Callable[[RunEngine, Callable[..., object]], object],
    ) -> None:
        self._settings, self._engine, self._background, self._ask = settings, engine, background, ask

    def go_on(self, run: RunFolder, go_on: Callable[..., object]) -> None:
        """``go_on`` with the engine in use once it is known to be the run's, or nothing tells; else ``ask`` is told of the run's."""
        settle = partial(self._settle, go_on)
        # Of a run that cannot be read the engine says what is wrong with it.
        self._background.submit(partial(find_run_engine, run), settle, lambda _: settle(None))

    def _settle(self, go_on: Callable[..., object], found: RunEngine | None) -> None:
        chosen = self._settings.get().interpreter
        if found is None or self._engine.in_process or (chosen and identify(found.python) == identify(chosen)):
            go_on()
        else:
            self._ask(found, go_on)
