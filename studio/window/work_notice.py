"""What a window tells of studies and sweeps: one that the end of the window before stopped can go on, one that works has ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from PySide6.QtCore import QObject, Slot

from studio.state.context import STUDIES, SWEEPS, AppContext
from studio.state.found_list import FoundList
from studio.state.side_job import FolderJob
from studio.state.studies.summary import StudySummary
from studio.state.sweeps.sweep_list import KnownSweep
from studio.theme import Tone
from studio.widgets import Banner
from studio.window.start_notices import StartNotices


class Work(NamedTuple):
    """``one`` names what it is: a study, a sweep. ``describe`` says what the one that was left is called, and what is missing in it;
    ``begin`` goes on with it, or says why that cannot be."""

    one: str
    page: str
    job: FolderJob
    found: FoundList[Any, Any]
    describe: Callable[[Any], tuple[str, str]]
    begin: Callable[[Any], str]


class WorkNotice(QObject):
    """Looks at the start once, and only where one was left; tells of an end while another page is in front."""

    def __init__(self, notices: StartNotices, context: AppContext, work: Work) -> None:
        super().__init__(notices)
        self._notices, self._context, self._work = notices, context, work
        self.banner: Banner | None = None
        self._was_busy = False
        work.job.changed.connect(self._follow)
        work.job.finished.connect(lambda: self._tell_end(f"The {work.one} is done.", "success"))
        if work.job.left:
            work.found.changed.connect(self._look)
            work.job.changed.connect(self._withdraw)
            work.found.refresh()

    @Slot()
    def _look(self) -> None:
        work = self._work
        if not work.found.loaded or self.banner is not None:
            return
        work.found.changed.disconnect(self._look)
        left = work.found.find(work.job.left)
        if left is None or left.state not in ("stopped", "failed") or work.job.is_busy:
            return
        title, missing = work.describe(left)
        said = f"{left.fraction:.0%} of it is done and kept." if left.fraction else "What was done is kept."
        self.banner = banner = Banner(
            "info",
            f"{title} was stopped with the window",
            f"{said} It goes on with what is missing{f': {missing}' if missing else ''}.",
        )
        banner.closed.connect(work.job.forget)
        banner.add_action(f"Show {work.one}", lambda: self._context.show_page(work.page))
        banner.add_action("Go on", self._go_on, variant="primary")
        self._notices.add(banner)

    def _go_on(self) -> None:
        left = self._work.found.find(self._work.job.left)
        problem = self._work.begin(left) if left is not None else f"This {self._work.one} is not there any more."
        if problem:
            self._context.notifier.notify(problem, "warning")
            return
        self._context.show_page(self._work.page)

    @Slot()
    def _follow(self) -> None:
        job = self._work.job
        if self._was_busy and not job.is_busy and job.problem:
            self._tell_end(f"The {self._work.one} has stopped: {job.problem}", "danger")
        self._was_busy = job.is_busy

    def _tell_end(self, words: str, tone: Tone) -> None:
        page = self._work.page
        if self._context.settings.get().page != page.partition("/")[0]:
            self._context.notifier.notify(
                words, tone, action_text=f"Show {self._work.one}", action=lambda: self._context.show_page(page)
            )

    @Slot()
    def _withdraw(self) -> None:
        """Once one works, its own page tells of it."""
        if self.banner is not None and self._work.job.is_busy:
            self.banner.hide()
            self._notices.fold()


def notice_study(notices: StartNotices, context: AppContext) -> WorkNotice:
    """Of a study that was left."""

    def describe(study: StudySummary) -> tuple[str, str]:
        return f"{study.title} of “{study.name}”", study.left

    studies = context.studies
    return WorkNotice(
        notices,
        context,
        Work("study", STUDIES, studies.job, studies.list, describe, lambda study: studies.begin(study.folder)),
    )


def notice_sweep(notices: StartNotices, context: AppContext) -> WorkNotice:
    """Of a sweep that was left."""

    def describe(sweep: KnownSweep) -> tuple[str, str]:
        return f"Sweep of “{sweep.title}”", ""

    sweeps = context.sweeps
    return WorkNotice(
        notices,
        context,
        Work("sweep", SWEEPS, sweeps.job, sweeps.list, describe, lambda known: sweeps.begin(known.sweep)),
    )
