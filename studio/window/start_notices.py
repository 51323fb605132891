"""What the start found: a run in the background, runs that were cut off, a crash last time."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QVBoxLayout, QWidget

from studio.actions.runs import delete_run
from studio.state.context import AppContext
from studio.state.run_library import RunSummary
from studio.state.way_on import START_OVER, way_on
from studio.theme import SPACING
from studio.widgets import Banner


class StartNotices(QWidget):
    """Banners above the page. Looks once, as soon as the list of runs is true."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._looked = False
        self._interrupted: Banner | None = None
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(SPACING.l, SPACING.m, SPACING.l, 0)
        self._column.setSpacing(SPACING.s)
        self.hide()
        context.library.refreshed.connect(self._on_refreshed)
        context.live.attached.connect(self._withdraw)

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

    @Slot()
    def _on_refreshed(self) -> None:
        if self._looked:
            return
        if self._context.library.overtaken():
            self._context.library.refresh()  # how that run ended is not in this list yet
            return
        self._looked = True
        live = self._context.library.running_elsewhere()
        if live and not self._context.live.live:
            self._context.watch(live[0].folder.path)
            return
        cut_off = self._context.library.interrupted()
        put_away = self._context.settings.get().left_alone
        if cut_off and cut_off[0].id != put_away and not self._context.live.live:
            self._offer_resume(cut_off)

    def _offer_resume(self, runs: list[RunSummary]) -> None:
        run = runs[0]
        name, step = run.record.get("name", run.id), int(run.record.get("step") or 0)
        more = f" {len(runs) - 1} more under Runs." if len(runs) > 1 else ""
        way = way_on(run.folder)
        lost = way is START_OVER
        if run.cut_short:
            title = f"“{name}” was stopped"
            text = f"{run.record['reason']} {way.kept if lost else f'It waits at step {step:,}.'}{more}"
        else:
            title = f"“{name}” was interrupted"
            text = f"Its process ended without a word at step {step:,} or later. {way.kept}{more}"
        banner = Banner("warning", title, text)
        banner.closed.connect(lambda: self._context.settings.update(left_alone=run.id))
        banner.add_action("Look at it", lambda: self._look(run))
        if lost:
            banner.add_action("Delete", lambda: self._delete(run))
        banner.add_action(way.verb, lambda: self._resume(run), variant="primary").setToolTip(way.tooltip)
        self._interrupted = banner
        self.add(banner)

    def _look(self, run: RunSummary) -> None:
        self._context.watch(run.folder.path)

    def _delete(self, run: RunSummary) -> None:
        if self._interrupted is not None and delete_run(self._context, self, run.folder):
            self._interrupted.hide()
            self.fold()

    def _resume(self, run: RunSummary) -> None:
        self._context.resume(run.folder.path)

    @Slot()
    def _withdraw(self) -> None:
        """Once a run is shown, its own page says what became of it."""
        if self._interrupted is not None and self._context.live.folder is not None:
            self._interrupted.hide()
            self.fold()
