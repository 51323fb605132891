"""What the start found of studies: one that the end of the window before stopped can go on."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from studio.state.context import STUDIES, AppContext
from studio.widgets import Banner
from studio.window.start_notices import StartNotices


class StudyNotice(QObject):
    """Looks once, and only where a study was left."""

    def __init__(self, notices: StartNotices, context: AppContext) -> None:
        super().__init__(notices)
        self._notices, self._context = notices, context
        self.banner: Banner | None = None
        self._left = context.studies.left
        if self._left:
            context.studies.list.changed.connect(self._look)
            context.studies.busy_changed.connect(self._withdraw)
            context.studies.list.refresh()

    @Slot()
    def _look(self) -> None:
        studies = self._context.studies
        if not studies.list.loaded or self.banner is not None:
            return
        studies.list.changed.disconnect(self._look)
        study = studies.list.find(self._left)
        if study is None or study.state not in ("stopped", "failed") or studies.is_busy:
            return
        title = f"{study.title} of “{study.name}” was stopped with the window"
        said = f"{study.fraction:.0%} of it is done and kept. " if study.fraction else "What was done is kept. "
        self.banner = banner = Banner("info", title, f"{said}It goes on with what is missing{_tell(study.left)}.")
        banner.closed.connect(lambda: self._context.settings.update(study_at_work=""))
        banner.add_action("Show study", lambda: self._context.show_page(STUDIES))
        banner.add_action("Go on", self._go_on, variant="primary")
        self._notices.add(banner)

    def _go_on(self) -> None:
        study = self._context.studies.list.find(self._left)
        if study is None:
            self._context.notifier.notify("This study is not there any more.", "warning")
            return
        if problem := self._context.studies.begin(study.folder):
            self._context.notifier.notify(problem, "warning")
            return
        self._context.show_page(STUDIES)

    @Slot()
    def _withdraw(self) -> None:
        """Once it works, its own page tells of it."""
        if self.banner is not None and self._context.studies.job.is_busy:
            self.banner.hide()
            self._notices.fold()


def _tell(left: str) -> str:
    return f": {left}" if left else ""
