"""A study in full: how far it is, what can be done with it, what it found, and what it proposes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from studio.forms.messages import kinds_of
from studio.pages.studies.finders.adopt import AdoptCard
from studio.pages.studies.finders.results.ablation_view import AblationView
from studio.pages.studies.finders.results.batch_view import BatchView
from studio.pages.studies.finders.results.range_view import RangeView
from studio.pages.studies.finders.results.result_view import ResultView
from studio.pages.studies.finders.results.speed_view import SpeedView
from studio.pages.studies.finders.results.spread_view import SpreadView
from studio.pages.studies.set_head import SetHead
from studio.pages.studies.words import STOPPING, describe_config, in_words
from studio.services.background import Refresher
from studio.state.context import AppContext
from studio.state.formats import format_ago
from studio.state.found_list import State
from studio.state.studies.readings import StudyReading, read_study
from studio.state.studies.summary import StudySummary
from studio.theme import SPACING
from studio.widgets import (
    STRETCH,
    Banner,
    Card,
    ProgressLine,
    in_widget,
    label,
    make_breakable,
    scroll_area,
    vbox,
)
from training.config import RunConfig
from training.studies.folder import StudyFolder
from training.studies.records import Kind

_VIEWS: dict[Kind, Callable[[], ResultView]] = {
    "lr-range": RangeView,
    "batch": BatchView,
    "speed": SpeedView,
    "seeds": partial(SpreadView, "Values appear as runs come to their end."),
    "cv": partial(SpreadView, "Each run answers the fold that it was trained without, once all are trained."),
    "ablation": AblationView,
}
_PROPOSING: frozenset[Kind] = frozenset({"lr-range", "batch", "speed"})
"""Kinds whose result may be something to adopt."""
_FAULTS: Mapping[State, str] = {"done": "Results", "damaged": "Its plan cannot be read"}
"""What a fault is about, by the state."""
_FOLDS_GO = "The runs of a cross-validation cannot be resumed without it: it holds which samples each leaves out."


class StudyDetail(QWidget):
    """Shows the study that ``show_study`` names."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context, self._studies = context, context.studies
        self.summary: StudySummary | None = None
        self.reading: StudyReading | None = None
        self._read_now: StudyFolder | None = None  # what is read in the background
        self._config: RunConfig | None = None  # what is studied
        self.head = SetHead(context, "study", self._studies.job, self._begin)
        self.head.delete.clicked.connect(self._delete)
        self.progress = ProgressLine()
        self.problem = Banner("danger", "", closable=False)
        self.said = Card()
        self.sentence = label("", wrap=True, selectable=True)
        self.notes = label("", "help", wrap=True, selectable=True)
        self.said.add(self.sentence)
        self.further = Card("In detail")
        self.further.add(self.notes)
        self.adopt = AdoptCard(context)
        self.view: ResultView | None = None
        self._view_of: Kind | None = None
        self._view_room = vbox()
        self._refresher = Refresher(context.background.make_other(), self._prepare, self._on_read, self._on_failed)
        self._lay_out()

    def _lay_out(self) -> None:
        content = vbox(
            self.head,
            self.progress,
            self.problem,
            self.said,
            self.adopt,
            self._view_room,
            self.further,
            STRETCH,
            spacing=SPACING.m,
            margins=(SPACING.m, SPACING.l, SPACING.l, SPACING.l),
        )
        vbox((scroll_area(in_widget(content), "Study"), 1), parent=self)

    # ------------------------------------------------------------------------------------------- reading

    def show_study(self, summary: StudySummary) -> None:
        """Show another one, or the same as it is now."""
        other = self.summary is None or summary.folder != self.summary.folder
        self.summary = summary
        if other:
            self.reading = self._config = None
        self.follow()
        self.refresh()

    def refresh(self) -> None:
        """Read again what was found."""
        if self.summary is not None and self.summary.state != "damaged":
            self._refresher.ask()

    def _prepare(self) -> Callable[[], StudyReading | None]:
        self._read_now = study = self.summary.folder if self.summary is not None else None
        return lambda: read_study(study) if study is not None and study.path.is_dir() else None

    def _on_read(self, reading: StudyReading | None) -> None:
        if reading is not None and self.summary is not None and reading.study == self.summary.folder:
            if self.reading is None:
                self._config = reading.plan.config
            self.reading = reading
            self.follow()

    def _on_failed(self, error: Exception) -> None:
        if self.summary is not None and self.summary.folder == self._read_now:
            self.problem.set_message("This study cannot be read", str(error))
            self.problem.show()

    # ------------------------------------------------------------------------------------------- showing

    @Slot()
    def follow(self) -> None:
        """Show how the study stands."""
        summary = self.summary
        if summary is None:
            return
        of = f"“{summary.name}” · {format_ago(summary.created, time.time())}" if summary.created else summary.id
        config = f"{describe_config(self._config)} · " if self._config is not None else ""
        about = f"{of}\n{config}{summary.id}" if summary.created else of
        self.head.show_one(summary.folder.path, summary.title, about, summary.state, summary.fraction)
        self.head.show_way_on(summary.state, self._studies.find_obstacle())
        self.head.count_runs(len(self.reading.runs) if self.reading is not None else 0)
        self._show_progress(summary)
        self._show_said(summary)
        self._show_found()

    def _show_progress(self, summary: StudySummary) -> None:
        working = summary.state == "working" or self._studies.job.is_at(summary.folder.path)
        shown = working or (summary.state in ("stopped", "failed") and bool(summary.reached.parts))
        self.progress.setVisible(shown)
        if not shown:
            return
        reached = summary.reached
        part = f"{min(reached.done + 1, reached.parts)} of {reached.parts}" if reached.parts else ""
        if not working:
            self.progress.set_progress(
                summary.fraction, f"{reached.done} of {reached.parts} done", summary.left, "neutral"
            )
            return
        words = STOPPING if self._studies.job.is_stopping else self._say(reached.words) or "Starting …"
        detail = " · ".join(filter(None, (part, summary.left)))
        self.progress.set_progress(summary.fraction if reached.words else None, words, detail)

    def _show_said(self, summary: StudySummary) -> None:
        job = self._studies.job
        failed = summary.said if summary.state in ("failed", "damaged") else ""
        if not failed and job.folder == summary.folder.path and job.problem and summary.state != "done":
            failed = job.problem
        reading = self.reading
        if not failed and reading is not None and reading.problem:
            failed = reading.problem
        self.problem.set_message(_FAULTS.get(summary.state, "It did not come to its end"), self._say(failed), "danger")
        self.problem.setVisible(bool(failed))
        result = reading.result if reading is not None else None
        plan = reading.plan if reading is not None else None
        if result is not None:
            self.said.set_title("Result")
            self.sentence.setText(make_breakable(self._say(result.sentence)))
            self.notes.setText(make_breakable(self._say("\n".join(result.notes))))
        elif plan is not None:
            self.said.set_title("What it does")
            self.sentence.setText(make_breakable(self._say("\n".join(plan.words))))
            self.notes.setText("")
        elif summary.sentence:
            self.said.set_title("Result")
            self.sentence.setText(make_breakable(self._say(summary.sentence)))
        self.further.setVisible(plan is not None and bool(self.notes.text()))
        self.said.setVisible(plan is not None or bool(summary.sentence))
        self.adopt.setVisible(result is not None and result.kind in _PROPOSING)
        if plan is not None and result is not None:
            self.adopt.show_proposal(plan, result)

    def _say(self, text: str) -> str:
        """With settings called as the forms call them."""
        return in_words(text, kinds_of(self._config) if self._config is not None else lambda _section: "")

    def _show_found(self) -> None:
        reading = self.reading
        kind = reading.plan.kind if reading is not None and reading.found is not None else None
        if kind != self._view_of:
            if self.view is not None:
                self.view.hide()
                self.view.deleteLater()
            self._view_of, self.view = kind, _VIEWS[kind]() if kind else None
            if self.view is not None:
                self._view_room.addWidget(self.view)
        if self.view is not None and reading is not None:
            begun = self.summary is not None and self.summary.state != "planned"
            self.view.setVisible(begun)
            self.view.say = self._say
            self.view.show_found(reading.found)

    # -------------------------------------------------------------------------------------------- acting

    def _begin(self) -> str:
        return self._studies.begin(self.summary.folder) if self.summary is not None else ""

    @Slot()
    def _delete(self) -> None:
        summary = self.summary
        if summary is not None:
            self.head.ask_and_delete(
                f"the {summary.title.lower()} {f'of “{summary.name}”' if summary.name else summary.id}",
                "Its plan, measurements and result",
                _FOLDS_GO if summary.kind == "cv" else "",
                list(self.reading.runs.values()) if self.reading is not None else [],
                partial(self._studies.list.remove, summary.folder),
            )
