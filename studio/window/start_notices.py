"""What the start found: a run in the background or one that ended there, runs that were cut off, a crash last time."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from studio.actions.runs import delete_run
from studio.identity import VERSION
from studio.panels.run_words import ENDS, describe_end
from studio.state.context import AppContext
from studio.state.runs.run_library import RunSummary
from studio.state.runs.way_on import START_OVER, way_on
from studio.theme import SPACING
from studio.widgets import Banner, vbox
from training.studies.folder import STUDIES
from training.sweeps.folder import SWEEPS


class StartNotices(QWidget):
    """Banners above the page. Looks once, as soon as the list of runs is true."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self._looked = False
        self._interrupted: Banner | None = None
        self._cut_off: Path | None = None  # the run it speaks of
        settings = context.settings.get()
        self._left, self._closed = settings.attended, settings.closed  # by the window before this one
        self._column = vbox(parent=self, margins=(SPACING.l, SPACING.m, SPACING.l, 0))
        self.hide()
        context.library.refreshed.connect(self._on_refreshed)
        context.queue.changed.connect(self._on_refreshed)
        context.live.attached.connect(self._withdraw)
        context.live.state_changed.connect(self._withdraw)
        context.live.state_changed.connect(self._note_attended)
        self._tell_of_newer_version()

    def add(self, banner: Banner) -> None:
        """Show one more."""
        banner.closed.connect(self.fold)
        self._column.addWidget(banner)
        self.show()

    @Slot()
    def fold(self) -> None:
        """Take no room when the last one is gone."""
        banners = self.findChildren(Banner)
        self.setVisible(any(not banner.isHidden() for banner in banners))

    def _tell_of_newer_version(self) -> None:
        settings = self._context.settings
        newer = settings.newer_version
        if not newer or newer == settings.get().newer_left_alone:
            return
        words = (
            f"Trainwright {newer} wrote them, and this is {VERSION}. What only {newer} knows is kept for it. Runs and checkpoints of it may "
            f"not open here: use Trainwright {newer} or later for these."
        )
        banner = Banner("info", "The preferences are those of a newer version", words)
        banner.closed.connect(lambda: settings.update(newer_left_alone=newer))
        self.add(banner)

    @Slot()
    def _on_refreshed(self) -> None:
        if self._looked or not self._context.library.loaded or not self._context.queue.loaded:
            return
        if self._context.library.is_overtaken():
            self._context.library.refresh()  # how that run ended is not in this list yet
            return
        self._looked = True
        self._tell_of_end()
        queued = self._context.queue.list_runs()  # which the foot of the window tells of, and a notice of their own
        live = [run for run in self._context.library.running_elsewhere() if run.id not in queued]
        if live and not self._context.live.live:
            self._context.open_run(live[0].folder.path)
            return
        sets = self._context.workspace / STUDIES, self._context.workspace / SWEEPS
        cut_off = [
            run
            for run in self._context.library.find_interrupted()
            if run.id not in queued and not any((each / tag).is_dir() for each in sets for tag in run.about.tags)
        ]  # those of a study or a sweep go on with it
        put_away = self._context.settings.get().left_alone
        if cut_off and cut_off[0].id != put_away and not self._context.live.live:
            self._offer_resume(cut_off)

    @Slot()
    def _note_attended(self) -> None:
        """Remember which run is being trained in sight of the person, until its end was seen."""
        live, settings = self._context.live, self._context.settings
        if live.folder is not None and live.live:
            settings.update(attended=live.folder.id, closed=0.0)  # it is in sight again
        elif live.folder is not None and live.folder.id == settings.get().attended:
            settings.update(attended="")

    def _tell_of_end(self) -> None:
        """The run that went on without a window may have come to its end."""
        run = self._context.library.find(self._left)
        if run is None or run.status not in ENDS or run.cut_short:
            return
        if self._context.settings.get().attended == run.id:
            self._context.settings.update(attended="")
        if (run.record.ended or 0.0) < self._closed:
            return
        name = self._context.library.title_of(run)
        verb, tone = ENDS[run.status]
        alone = " while the window was closed" if self._closed else ""  # another window may be open, or have crashed
        banner = Banner(tone, f"“{name}” {verb}{alone}", describe_end(run.record))
        banner.add_action("Show run", lambda: self._show(run, banner), variant="primary")
        self.add(banner)

    def _show(self, run: RunSummary, banner: Banner) -> None:
        banner.hide()
        self.fold()
        self._look(run)

    def _offer_resume(self, runs: list[RunSummary]) -> None:
        run = runs[0]
        name, step = self._context.library.title_of(run), run.record.step
        more = f" {len(runs) - 1} more under Runs." if len(runs) > 1 else ""
        way = way_on(run.folder)
        lost = way is START_OVER
        if run.cut_short:
            title = f"“{name}” was stopped"
            text = f"{run.record.reason} {way.kept if lost else f'It waits at step {step:,}.'}{more}"
        else:
            title = f"“{name}” was interrupted"
            text = f"The training process exited unexpectedly (last step {step:,}). {way.kept}{more}"
        banner = Banner("warning", title, text)
        banner.closed.connect(lambda: self._context.settings.update(left_alone=run.id))
        banner.add_action("Show run", lambda: self._look(run))
        if lost:
            banner.add_action("Delete", lambda: self._delete(run))
        banner.add_action(way.verb, lambda: self._resume(run), variant="primary").setToolTip(way.tooltip)
        self._interrupted, self._cut_off = banner, run.folder.path
        self.add(banner)

    def _look(self, run: RunSummary) -> None:
        self._context.open_run(run.folder.path)

    def _delete(self, run: RunSummary) -> None:
        if self._interrupted is not None and delete_run(self._context, run.folder):
            self._interrupted.hide()
            self.fold()

    def _resume(self, run: RunSummary) -> None:
        self._context.resume(run.folder.path)

    @Slot()
    def _withdraw(self) -> None:
        """Once the run is shown, its own page says what became of it; and another that is trained is more important."""
        live = self._context.live
        shown = live.folder is not None and (live.live or live.folder.path == self._cut_off)
        if self._interrupted is not None and shown:
            self._interrupted.hide()
            self.fold()
