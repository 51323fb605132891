"""The run on the Run page: the one at work, or another one that a person looks at meanwhile."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from studio.state.runs.live_run import LiveRun, RunSignals
from training.runs.folder import RunFolder

_FORWARDED = [name for name, each in vars(RunSignals).items() if isinstance(each, Signal)]


class ShownRun(RunSignals):
    """Says what ``run`` says, so that widgets connect once whichever run is shown: ``live``, which is at work or was last, or ``beside``,
    which a person looks at while ``live`` works. ``refused(str)`` comes from either; ``checkpoint_wanted(str)``: the one in the folder
    of this name is to be selected."""

    refused = Signal(str)
    checkpoint_wanted = Signal(str)

    def __init__(self, live: LiveRun, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.live, self.beside = live, LiveRun(self)
        self.run = live
        self._page_shown = True
        self._connect(on=True)
        for run in (live, self.beside):
            run.refused.connect(self.refused)

    @property
    def at_hand(self) -> LiveRun:
        """The run that commands are for: the one at work; while none is, the one that is shown."""
        return self.live if self.live.live else self.run

    def open(self, folder: Path, *, beside: bool) -> None:
        """Show the run in ``folder``; ``beside``: without letting go of another one that is at work."""
        if beside and (self.live.folder is None or self.live.folder.path != folder):
            self.beside.attach(folder)
            self._show(self.beside)
        else:
            self.live.attach(folder)
            self.look_at_work()

    def look_at_work(self) -> None:
        """Show the run at work, or the last one that was."""
        self._show(self.live)
        self.beside.detach()

    def let_go(self, folder: RunFolder) -> None:
        """Show a run no longer: it is about to go."""
        if self.beside.folder == folder:
            self.look_at_work()
        if self.live.folder == folder:
            self.live.detach()

    def refresh(self, folder: RunFolder) -> None:
        """Show the run in ``folder`` as it is now, where it is shown."""
        for run in (self.live, self.beside):
            if run.folder == folder:
                run.refresh()

    def is_at_work(self, folder: RunFolder) -> bool:
        """Whether work is known to go on in ``folder``."""
        return any(run.live and run.folder == folder for run in (self.live, self.beside))

    def set_window_shown(self, shown: bool) -> None:
        """Whether the window is on the screen at all."""
        for run in (self.live, self.beside):
            run.set_window_shown(shown)

    def _show(self, run: LiveRun) -> None:
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
