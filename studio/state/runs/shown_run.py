"""The run on the Run page: the one at work, or another one that a person looks at meanwhile."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from studio.state.runs.live_run import LiveRun

_FORWARDED = (
    "attached",
    "state_changed",
    "progress_changed",
    "truncated",
    "rows_arrived",
    "telemetry_arrived",
    "event_arrived",
    "owner_changed",
    "looked",
    "asked",
)


class ShownRun(QObject):
    """Says what ``run`` says, by the same signals as LiveRun, so that widgets connect once whichever run is shown."""

    attached = Signal()
    state_changed = Signal(object)
    progress_changed = Signal(object)
    truncated = Signal(int)
    rows_arrived = Signal(object)
    telemetry_arrived = Signal(object)
    event_arrived = Signal(object)
    owner_changed = Signal()
    looked = Signal()
    asked = Signal(object)

    def __init__(self, run: LiveRun, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.run = run
        self._page_shown = True
        self._connect(on=True)

    def show(self, run: LiveRun) -> None:
        """Show ``run`` from now on, from its beginning."""
        if run is self.run:
            return
        self._connect(on=False)
        self.run.set_page_shown(False)
        self.run = run
        run.set_page_shown(self._page_shown)
        self._connect(on=True)
        if run.folder is None:
            self.attached.emit()
        self.state_changed.emit(run.state)
        run.replay()

    def set_page_shown(self, shown: bool) -> None:
        """Whether the page with the numbers is in front."""
        self._page_shown = shown
        self.run.set_page_shown(shown)

    def _connect(self, *, on: bool) -> None:
        for name in _FORWARDED:
            heard, said = getattr(self.run, name), getattr(self, name)
            if on:
                heard.connect(said)
            else:
                heard.disconnect(said)
