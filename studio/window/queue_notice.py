"""What the start finds in the queue: runs that wait, and nobody who trains them, for example after a restart of the machine."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from studio.actions.queueing import go_on
from studio.state.context import QUEUE, AppContext
from studio.widgets import Banner
from studio.window.start_notices import StartNotices
from training.errors import pluralize


class QueueNotice(QObject):
    """Asks once, as soon as the queue was read, whether it is to go on; nothing goes on by itself."""

    def __init__(self, context: AppContext, notices: StartNotices) -> None:
        super().__init__(notices)
        self._context = context
        self._notices = notices
        self._looked = False
        self._banner: Banner | None = None
        context.queue.changed.connect(self._on_changed)
        context.queue.refresh()

    @Slot()
    def _on_changed(self) -> None:
        queue = self._context.queue
        if not queue.loaded:
            return
        if not self._looked:
            self._looked = True
            if queue.overview.left_alone and not queue.overview.paused:
                self._ask()
        elif self._banner is not None and (not queue.overview.left_alone or queue.starting):
            self._put_away()

    def _ask(self) -> None:
        overview = self._context.queue.overview
        cut, waiting = overview.list_state("interrupted"), overview.list_state("waiting")
        if cut:
            name = f"“{cut[0].entry.name}”" if len(cut) == 1 else pluralize(len(cut), "run")
            title = f"{name} of the queue {'was' if len(cut) == 1 else 'were'} interrupted"
            title += f", and {pluralize(len(waiting), 'more run')} {_verb(len(waiting))}" if waiting else ""
            why = "The process that worked the queue off was killed, or went with the machine. Each run goes on where it was."
        else:
            title = f"{pluralize(len(waiting), 'run')} {_verb(len(waiting))} in the queue"
            why = "No process trains them. Runs are trained one after another, also while this window is closed."
        banner = Banner("warning" if cut else "info", title, why)
        banner.add_action("Show queue", lambda: self._context.show_page(QUEUE))
        banner.add_action("Later", self._put_away)
        banner.add_action("Go on", lambda: go_on(self._context), variant="primary")
        self._banner = banner
        self._notices.add(banner)

    def _put_away(self) -> None:
        if self._banner is not None:
            self._banner.hide()
            self._banner = None
            self._notices.fold()


def _verb(count: int) -> str:
    return "waits" if count == 1 else "wait"
