"""The Evaluate page: what a checkpoint answers to each sample, and the samples behind every number."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QSplitter, QStackedLayout, QWidget

from studio.pages.evaluate.evaluation_state import EvaluationState
from studio.pages.evaluate.header import EvaluationHeader
from studio.pages.evaluate.metrics_row import MetricsRow
from studio.pages.evaluate.samples_panel import SamplesPanel
from studio.pages.evaluate.view import View
from studio.pages.evaluate.view_list import VIEWS
from studio.pages.evaluate.view_stage import ViewStage
from studio.pages.evaluate.views.importance_view import ImportanceView
from studio.pages.evaluate.views.residuals_view import ResidualsView
from studio.panels.kept_sizes import KeptSizes
from studio.services.settings import SettingsStore
from studio.state.context import AppContext
from studio.state.evaluations.evaluation_job import EvaluationJob
from studio.state.evaluations.kept_intervals import KeptIntervals
from studio.state.evaluations.selection import Selection
from studio.theme import SPACING, theme
from studio.widgets import in_widget, vbox
from training.errors import InputError
from training.events import CheckpointSaved, Event, Validated
from training.predictions import Evaluation
from training.system.untrusted import escape_unprintable

_NO_CHECKPOINT = (
    "Choose a checkpoint first",
    "Then it is evaluated on these files. To train on them, drop them on the Setup page.",
)
_LONGEST = 60  # letters of a file's name
_SHARE = 0.4  # of the width, for the samples, until a person moves the handle
_MOST = 640  # pixels of them then, for text of the designed size: the views have more use for the rest


class EvaluatePage(QWidget):
    """Shows what ``context.evaluation`` chooses; the views follow ``selection``."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self.choice = context.evaluation
        self.selection = Selection(self)
        self.header = EvaluationHeader(self.choice)
        self.metrics = MetricsRow(context)
        self.samples = SamplesPanel(context, self.selection)
        self.job = EvaluationJob(context.engine, self)
        self.intervals = KeptIntervals(context.engine, self)
        self.state = EvaluationState(context, self.choice, self.job)
        self.views: dict[str, View] = {}  # those that were ever shown
        self._shown: list[View] = []
        self._lay_out()
        self.choice.changed.connect(self._follow)
        self.job.finished.connect(self.choice.refresh)
        self.intervals.finished.connect(self.choice.refresh)
        self.intervals.changed.connect(lambda: self.metrics.say(self.intervals.words))
        self.state.evaluate_asked.connect(self.evaluate)
        self.header.evaluate_asked.connect(self.evaluate)
        self.header.data_given.connect(self.take_files)
        self.selection.changed.connect(self._update_views)
        context.library.refreshed.connect(self._look_again)
        context.shown.attached.connect(self._look_again)
        context.shown.event_arrived.connect(self._on_event)
        context.labels.finished.connect(self._tell_labels)
        self._follow()

    def _lay_out(self) -> None:
        self.stage = ViewStage(self.metrics)
        split = _Split(self._context.settings)
        split.addWidget(self.stage)
        split.addWidget(self.samples)
        self._content = in_widget(vbox(self.stage.tabs, (split, 1), spacing=SPACING.s))
        holder = QWidget()
        self._stack = QStackedLayout(holder)
        self._stack.addWidget(self.state)
        self._stack.addWidget(self._content)
        margins = SPACING.l, SPACING.s, SPACING.l, SPACING.s  # what is above and below has its own
        vbox(self.header, (holder, 1), parent=self, spacing=SPACING.s, margins=margins)

    @Slot()
    def evaluate(self) -> None:
        """Have what is chosen evaluated; again, where it was before."""
        checkpoint, known = self.choice.checkpoint, self.choice.evaluation
        if checkpoint is not None:
            self.choice.hold(checkpoint)
            if known is not None:
                self.choice.forget(known)  # its files are written once more
            self.job.start(checkpoint.path, self.choice.on, again=known is not None)

    def describe_files(self, paths: Sequence[Path]) -> tuple[str, str]:
        """What becomes of files that are let go over this page."""
        checkpoint, name = self.choice.checkpoint, escape_unprintable(paths[0].name, _LONGEST)
        if checkpoint is None:
            return _NO_CHECKPOINT
        more = f" Only the first of {len(paths)} is taken." if len(paths) > 1 else ""
        return f"Evaluate on {name}", f"What step {checkpoint.step:,} answers to each of its samples.{more}"

    @Slot(list)
    def take_files(self, paths: Sequence[Path]) -> None:
        """Evaluate what is chosen on other data, where it was not yet."""
        if self.choice.checkpoint is None:
            title, words = _NO_CHECKPOINT
            self._context.notifier.notify(words, "warning", title=title, subject="other data")
            return
        self.choice.choose_data(str(paths[0].absolute()))
        if self.choice.evaluation is None:
            self.evaluate()

    @Slot()
    def _tell_labels(self) -> None:
        """The training part of a run was examined: offer what was found, each a sample of the evaluation of that part."""
        run = self._context.labels.run

        def show() -> None:
            if run is None:
                return
            self._context.open_run(run.path, "evaluate")
            self.choice.choose_run(run)
            self.choice.is_wanted = True
            self.choice.choose_data("train")

        words = "The training part is examined: its suspicious labels can be looked at."
        self._context.notifier.notify(words, "success", action_text="Show", action=show, subject="suspicious labels")

    @Slot()
    def _look_again(self) -> None:
        """Take up the run that is shown, as it is now."""
        if self.isVisible():
            folder = self._context.shown.run.folder
            self.choice.choose_run(folder if folder is not None and folder.path.is_dir() else None)

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        if isinstance(event, CheckpointSaved | Validated):
            self._look_again()

    @Slot()
    def _follow(self) -> None:
        evaluation = self.choice.evaluation
        if evaluation is not None and evaluation is not self.selection.evaluation:
            evaluation = self._show(evaluation)
        elif evaluation is None and self.selection.evaluation is not None:
            self.selection.show(None)
            self._drop_views()
        self._stack.setCurrentWidget(self._content if evaluation is not None else self.state)
        self.intervals.look_at(evaluation)
        if self.choice.is_wanted and self.choice.loaded:
            self.choice.is_wanted = False
            if self.choice.evaluation is None:
                self.evaluate()

    def _show(self, evaluation: Evaluation) -> Evaluation | None:
        """Take up ``evaluation``; None where it cannot be read, which is said instead."""
        try:
            self._shown = [self._find_view(kind) for kind in VIEWS if kind.supports(evaluation.record)]
            self.metrics.show_record(evaluation.record)
            for view in self._shown:
                view.show_evaluation(evaluation)
            self.selection.show(evaluation)
        except InputError as error:
            self.selection.show(None)
            self._drop_views()
            self.state.set_problem(str(error))
            return None
        self.stage.set_cards(self._shown)
        return evaluation

    def _drop_views(self) -> None:
        """Let go of the files that they map: a folder whose files are open cannot be deleted everywhere."""
        self.stage.set_cards(())
        for view in self.views.values():
            view.let_go()
            view.deleteLater()
        self.views, self._shown = {}, []

    def _find_view(self, kind: type[View]) -> View:
        if kind.key not in self.views:
            view = self.views[kind.key] = kind(self._context, self.selection)
            if isinstance(view, ImportanceView):
                view.column_clicked.connect(self._show_residuals)
        return self.views[kind.key]

    @Slot(str)
    def _show_residuals(self, column: str) -> None:
        view = self.views.get(ResidualsView.key)
        if isinstance(view, ResidualsView) and view in self._shown and view.show_column(column):
            self.stage.reveal(view)

    @Slot()
    def _update_views(self) -> None:
        if self.selection.evaluation is not None:
            for view in self._shown:
                view.follow()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._context.library.refresh()  # and when it is read, `_look_again`
        self._look_again()


class _Split(QSplitter):
    """The views beside the samples, which keep their share of the width until a person moves the handle."""

    def __init__(self, settings: SettingsStore) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._kept = KeptSizes(self, settings, "evaluate")
        self.setHandleWidth(SPACING.m)
        self.setChildrenCollapsible(False)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        width = event.size().width()
        side = min(round(width * _SHARE), round(_MOST * max(theme().font_scale, 1.0)))
        self.setSizes(self._kept.find() or [width - side, side])
