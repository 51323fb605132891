"""The Studies tab: the studies of the workspace beside the one that is looked at."""

from __future__ import annotations

import time

from PySide6.QtCore import Slot

from studio.pages.studies.finders.detail import StudyDetail
from studio.pages.studies.finders.new_study import NewStudyDialog
from studio.pages.studies.set_list import SetRow
from studio.pages.studies.set_tab import SetTab, TabWords
from studio.pages.studies.words import in_words, name_state
from studio.state.context import AppContext
from studio.state.formats import format_ago
from studio.state.studies.summary import StudySummary
from training.studies.folder import StudyFolder
from training.studies.records import Kind

_USUAL: Kind = "lr-range"


class StudiesTab(SetTab):
    """Look, begin, stop, go on, adopt."""

    words = TabWords(
        "study",
        "studies",
        "studies",
        "A study trains a few short runs, or measures, and proposes a setting: the learning rate, the batch size, what makes it faster.",
        "Every study of this workspace, with what came of it.",
    )

    def __init__(self, context: AppContext) -> None:
        studies, detail = context.studies, StudyDetail(context)
        super().__init__(context, studies.list, studies.job, detail)
        self.detail = detail
        self.dialog: NewStudyDialog | None = None
        self.detail.head.removed.connect(lambda _study: self.setFocus())
        studies.new_asked.connect(self.open_new)
        studies.busy_changed.connect(self._update)
        self._show()

    def _row_of(self, found: StudySummary) -> SetRow:
        when = format_ago(found.created, time.time()) if found.created else ""
        state, tone = name_state(found.state, found.fraction, found.folder.path, self._job)
        reached = f"{found.reached.done} of {found.reached.parts} done" if found.reached.parts else ""
        said = in_words(found.sentence or found.said, lambda _section: "") or " · ".join(
            filter(None, (reached, found.left))
        )
        return SetRow(
            found.id, found.title, state, tone, " · ".join(filter(None, (found.name, when))) or found.id, said
        )

    def _show_one(self, found: StudySummary) -> None:
        self.detail.show_study(found)

    @Slot(str)
    def open_new(self, wanted: str) -> None:
        """Ask for a new study, of a kind where one is ``wanted``."""
        config = self._context.draft.config()
        if config is None:
            self._context.notifier.notify(self._wrong, "warning")
            return
        if self.dialog is not None:
            self.dialog.raise_()
            return
        kind: Kind = wanted or _USUAL  # type: ignore[assignment]
        self.dialog = dialog = NewStudyDialog(self._context, config, kind, self.window())
        dialog.begun.connect(self._on_begun)
        dialog.finished.connect(self._forget_dialog)
        dialog.open()

    @Slot(object)
    def _on_begun(self, study: StudyFolder) -> None:
        self.rows.choose(study.id)
        self._found.refresh()

    @Slot()
    def _forget_dialog(self) -> None:
        if self.dialog is not None:
            self.dialog.deleteLater()
            self.dialog = None
