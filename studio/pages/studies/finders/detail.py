"""A study in full: how far it is, what can be done with it, what it found, and what it proposes."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QWidget

from studio.actions.files import reveal
from studio.actions.places import compare_runs, list_runs
from studio.actions.question import Answer, ask
from studio.actions.runs import throw_away_runs
from studio.pages.studies.finders.adopt import AdoptCard
from studio.pages.studies.finders.results.ablation_view import AblationView
from studio.pages.studies.finders.results.batch_view import BatchView
from studio.pages.studies.finders.results.range_view import RangeView
from studio.pages.studies.finders.results.result_view import ResultView
from studio.pages.studies.finders.results.speed_view import SpeedView
from studio.pages.studies.finders.results.spread_view import SpreadView
from studio.pages.studies.finders.study_rows import name_state
from studio.pages.studies.finders.words import STATE_WORDS, describe_config, in_words, kind_of
from studio.services.background import Refresher
from studio.state.context import AppContext
from studio.state.formats import format_ago
from studio.state.studies.readings import StudyReading, read_study
from studio.state.studies.summary import StudySummary
from studio.theme import SPACING
from studio.widgets import (
    STRETCH,
    Banner,
    Card,
    ProgressLine,
    StatusPill,
    button,
    flow_box,
    hbox,
    icon_button,
    in_widget,
    label,
    make_breakable,
    scroll_area,
    vbox,
)
from training.config import RunConfig
from training.errors import pluralize
from training.runs.records.about import name_of, read_about
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
_FOLDS_GO = " The runs of a cross-validation cannot be resumed without it: it holds which samples each leaves out."
BEGIN, GO_ON = "Start study", "Go on"


class StudyDetail(QWidget):
    """Shows the study that ``show_study`` names. Signals: `removed(str)`: that one is about to be deleted."""

    removed = Signal(str)

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context, self._studies = context, context.studies
        self.summary: StudySummary | None = None
        self.reading: StudyReading | None = None
        self._config: RunConfig | None = None  # what is studied
        self.title = label("", "title", wrap=True)
        self.pill = StatusPill()
        self.about = label("", "help", wrap=True)
        self.progress = ProgressLine()
        self.problem = Banner("danger", "", closable=False)
        self.obstacle = label("", "help", wrap=True)
        self.go_on = button(GO_ON, "play", "primary", clicked=self._go_on)
        self.stop = button("Stop", "stop", tooltip="What is done is kept; it goes on from there", clicked=self._stop)
        self.show_runs = button("Show its runs", "runs", clicked=lambda: self._show_runs(compare=False))
        self.compare = button("Compare them", "chart", clicked=lambda: self._show_runs(compare=True))
        self.folder = icon_button("folder", "Show its folder", clicked=self._reveal)
        self.delete = icon_button("trash", "Delete this study …", clicked=self._delete)
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
        buttons = flow_box(self.go_on, self.stop, self.show_runs, self.compare, self.folder, self.delete)
        content = vbox(
            hbox((self.title, 1), self.pill),
            self.about,
            buttons,
            self.obstacle,
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
        vbox((scroll_area(in_widget(content)), 1), parent=self)

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
        study = self.summary.folder if self.summary is not None else None
        return lambda: read_study(study) if study is not None and study.path.is_dir() else None

    def _on_read(self, reading: StudyReading | None) -> None:
        if reading is not None and self.summary is not None and reading.study == self.summary.folder:
            if self.reading is None:
                self._config = reading.plan.config
            self.reading = reading
            self.follow()

    def _on_failed(self, error: Exception) -> None:
        self.problem.set_message("This study cannot be read", str(error))
        self.problem.show()

    # ------------------------------------------------------------------------------------------- showing

    @Slot()
    def follow(self) -> None:
        """Show how the study stands."""
        summary = self.summary
        if summary is None:
            return
        self.title.setText(summary.title)
        self.pill.set_status(name_state(summary), STATE_WORDS[summary.state][1])
        of = f"“{summary.name}” · {format_ago(summary.created, time.time())}" if summary.created else summary.id
        config = f"{describe_config(self._config)} · " if self._config is not None else ""
        self.about.setText(make_breakable(f"{of}\n{config}{summary.id}" if summary.created else of))
        self._show_actions(summary)
        self._show_progress(summary)
        self._show_said(summary)
        self._show_found()

    def _show_actions(self, summary: StudySummary) -> None:
        ours = self._studies.job.is_at(summary.folder)
        obstacle = "" if ours or summary.state in ("done", "working", "damaged") else self._studies.find_obstacle()
        self.go_on.setVisible(summary.state in ("planned", "stopped", "failed") and not ours)
        self.go_on.setText(BEGIN if summary.state == "planned" else GO_ON)
        self.go_on.setEnabled(not obstacle)
        self.go_on.setToolTip(obstacle or "Go on with what is missing")
        self.obstacle.setText(obstacle)
        self.obstacle.setVisible(bool(obstacle))
        self.stop.setVisible(ours)
        self.stop.setEnabled(not self._studies.job.is_stopping)
        count = len(self.reading.runs) if self.reading is not None else 0
        for part in (self.show_runs, self.compare):
            part.setVisible(count > 0)
        self.compare.setEnabled(count > 1)
        self.show_runs.setToolTip(f"{pluralize(count, 'ordinary run')} with the tag {summary.id}")
        self.delete.setEnabled(not ours and summary.state != "working")
        self.delete.setToolTip("Stop it first" if not self.delete.isEnabled() else "Delete this study …")

    def _show_progress(self, summary: StudySummary) -> None:
        working = summary.state == "working" or self._studies.job.is_at(summary.folder)
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
        words = "Stopping …" if self._studies.job.is_stopping else self._say(reached.words) or "Starting …"
        detail = " · ".join(filter(None, (part, summary.left)))
        self.progress.set_progress(summary.fraction if reached.words else None, words, detail)

    def _show_said(self, summary: StudySummary) -> None:
        job = self._studies.job
        failed = summary.said if summary.state in ("failed", "damaged") else ""
        if not failed and job.study == summary.folder and job.problem and summary.state != "done":
            failed = job.problem
        reading = self.reading
        if not failed and reading is not None and reading.problem:
            failed = reading.problem
        self.problem.set_message(
            "It did not come to its end" if summary.state != "done" else "Results", failed, "danger"
        )
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
        self.further.setVisible(plan is not None and bool(self.notes.text()))
        self.said.setVisible(plan is not None)
        self.adopt.setVisible(result is not None and result.kind in _PROPOSING)
        if plan is not None and result is not None:
            self.adopt.show_proposal(plan, result)

    def _say(self, text: str) -> str:
        """With settings called as the forms call them."""
        return in_words(text, kind_of(self._config)) if self._config is not None else text

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

    @Slot()
    def _go_on(self) -> None:
        if self.summary is not None and (problem := self._studies.begin(self.summary.folder)):
            self._context.notifier.notify(problem, "warning")

    @Slot()
    def _stop(self) -> None:
        if self.summary is not None and self._studies.job.is_at(self.summary.folder):
            self._studies.job.stop()

    def _show_runs(self, *, compare: bool) -> None:
        if self.summary is not None:
            show = compare_runs if compare else list_runs
            show(self._context, f'"{self.summary.id}" in tags')

    @Slot()
    def _reveal(self) -> None:
        if self.summary is not None:
            reveal(self.summary.folder.path)

    @Slot()
    def _delete(self) -> None:
        summary, runs = self.summary, dict(self.reading.runs) if self.reading is not None else {}
        if summary is None:
            return
        answers = [Answer("study", "Delete study")]
        text = "Its plan, measurements and result are deleted for good."
        if runs:
            text += f" Its {pluralize(len(runs), 'run')} stay, unless you delete them, too: then they go to the trash."
            answers.append(Answer("runs", "Delete study and runs", "danger"))
        if summary.kind == "cv":
            text += _FOLDS_GO
        answer = ask(self, f"Delete the {summary.title.lower()} of “{summary.name}”?", text, answers)
        if not answer:
            return
        if self._studies.job.is_at(summary.folder):
            self._context.notifier.notify("This study is at work. Stop it first.", "warning")
            return
        self.removed.emit(summary.id)
        self._studies.list.remove(summary.folder, lambda error: self._context.notifier.notify(str(error), "danger"))
        if answer == "runs":
            throw_away_runs(self._context, {run: name_of(run.status(), read_about(run)) for run in runs.values()})
