"""One sweep: how it stands, its views, its trials, and what can be done with them."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QDialog, QSplitter, QStackedWidget, QWidget

from studio.actions.places import list_runs
from studio.actions.question import Answer, ask
from studio.pages.studies.sweeps.sweep_list import Standing
from studio.pages.studies.sweeps.trial_dialog import TrialDialog
from studio.pages.studies.sweeps.trials_table import TrialsTable
from studio.pages.studies.sweeps.views import CurvesView, ImportanceView, ParallelView, SlicesView, SweepView
from studio.state.context import AppContext
from studio.state.formats import metric_title
from studio.state.studies.studies import AT_WORK
from studio.state.sweeps.adopting import adopt_trial
from studio.state.sweeps.sweep_library import KnownSweep
from studio.state.sweeps.titles import PRUNER_TITLES, SAMPLER_TITLES
from studio.theme import SPACING, set_role
from studio.widgets import ElidedLabel, Segmented, StatusPill, button, flow_box, hbox, in_widget, label, vbox
from training.errors import format_bytes, format_duration
from training.sweeps.by_hand import stop_trial
from training.sweeps.records import SweepRecord, TrialRecord

_VIEWS = (("curves", "Curves"), ("importance", "Importance"), ("parallel", "Parallel"), ("slices", "Slices"))
_COMPANY = (
    "A run is being trained in this window, too: both are slower for it, and on a GPU both have to fit into its memory."
)
_SIZES = [300, 260]  # pixels of the views, and of the trials
_STOP = "Its run is stopped and kept, and can be resumed like any other, but the sweep does not go on with this trial."


class SweepDetail(QWidget):
    """Signals: `changed()` when something was done to the sweep that is to be seen."""

    changed = Signal()

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context, self._job = context, context.sweeps
        self._background = context.background.make_other()  # a lock, or a database, may let it wait
        self._known: KnownSweep | None = None
        self.chosen: int | None = None
        self.name = ElidedLabel("", Qt.TextElideMode.ElideRight)
        set_role(self.name, "section")
        self.pill = StatusPill()
        self.start = button("Start", "play", "primary", clicked=self._start)
        self.stop = button(
            "Stop", "stop", tooltip="What was trained is kept; Go on takes it up", clicked=self._job.stop
        )
        self.add = button("Add a trial …", "plus", clicked=self._add)
        self.runs = button("Show its runs", "runs", clicked=self._show_runs)
        self.facts, self.said = label("", "caption", wrap=True), label("", "help", wrap=True)
        self.problem = label("", "problem", wrap=True, selectable=True)
        self.choice = Segmented(_VIEWS)
        self.choice.setAccessibleName("View of the sweep")
        self.views: dict[str, SweepView] = {
            "curves": CurvesView(),
            "importance": ImportanceView(),
            "parallel": ParallelView(),
            "slices": SlicesView(),
        }
        self.table = TrialsTable()
        self.open_run = button("Open run", "chart", clicked=self._open)
        self.adopt = button("Adopt", "check", tooltip="Put its settings into the forms on Setup", clicked=self._adopt)
        self.stop_one = button("Stop this trial …", "stop", clicked=self._stop_one)
        self.words = label("", "caption")
        self._lay_out()
        self._connect()

    def _lay_out(self) -> None:
        head = hbox((self.name, 1), self.pill, self.start, self.stop)
        bar = QWidget()
        flow_box(self.choice, self.add, self.runs, parent=bar, spacing=SPACING.m)
        self._stack = QStackedWidget()
        for view in self.views.values():
            self._stack.addWidget(view)
        self._stack.setMinimumHeight(120)
        acts = QWidget()
        flow_box(self.open_run, self.adopt, self.stop_one, self.words, parent=acts)
        below = in_widget(vbox((self.table, 1), acts))
        self._split = QSplitter(Qt.Orientation.Vertical)
        self._split.setHandleWidth(SPACING.s)
        self._split.addWidget(self._stack)
        self._split.addWidget(below)
        self._split.setSizes(_SIZES)
        self._split.setChildrenCollapsible(False)
        vbox(head, self.facts, self.said, self.problem, bar, (self._split, 1), parent=self)

    def _connect(self) -> None:
        self.choice.current_changed.connect(self._on_view)
        for view in self.views.values():
            view.trial_pressed.connect(self.choose)
        self.table.chosen.connect(self.choose)
        self.table.opened.connect(lambda _number: self._open())
        self._job.changed.connect(self._update)
        self._context.live.state_changed.connect(self._update)

    # ------------------------------------------------------------------------------------------- showing

    @property
    def path(self) -> Path | None:
        """The folder of the sweep that is shown."""
        return self._known.sweep.path if self._known is not None else None

    def show_sweep(self, known: KnownSweep) -> None:
        """Show a sweep as it is now."""
        if known is self._known:
            self._update()
            return
        if self.path != known.sweep.path:
            self.chosen = known.record.best if known.record is not None else None
        self._known = known
        if known.record is not None:
            self.table.show_record(known.record, self.chosen)
            self._front().show_record(known.record, self.chosen)
        for part in (self._split, self.choice):
            part.setVisible(known.record is not None)
        self._update()

    @Slot(int)
    def choose(self, number: int) -> None:
        """Show a trial as chosen, in all views."""
        if number != self.chosen:
            self.chosen = number
            self.table.mark(number)
            self._front().mark(number)
        self._update()

    def find_trial(self) -> TrialRecord | None:
        """The trial that is chosen."""
        record = self._known.record if self._known is not None else None
        if record is None or self.chosen is None or self.chosen >= len(record.trials):
            return None
        return record.trials[self.chosen]

    def _front(self) -> SweepView:
        return self.views[self.choice.current()]

    @Slot(str)
    def _on_view(self, key: str) -> None:
        self._stack.setCurrentWidget(self.views[key])
        if self._known is not None and self._known.record is not None:
            self.views[key].show_record(self._known.record, self.chosen)

    @Slot()
    def _update(self) -> None:
        known = self._known
        if known is None:
            return
        job, record, sweep = self._job, known.record, known.sweep
        ours = job.is_working(sweep)
        self.name.setText(sweep.name)
        self.name.setToolTip(sweep.id)
        self.pill.set_status(*stand(known, self._context))
        self.start.setVisible(not ours)
        self.start.setText("Go on" if record is not None and record.trials else "Start")
        why = self._explain_start()
        self.start.setEnabled(not why)
        self.start.setToolTip(why)
        self.stop.setVisible(ours)
        self.stop.setEnabled(not job.is_stopping)
        self.add.setEnabled(record is not None)
        self.runs.setEnabled(record is not None and any(trial.run for trial in record.trials))
        self.facts.setText(_describe(known))
        company = _COMPANY if ours and self._context.is_training() else ""
        ended = record.ended if record is not None and not ours else ""
        self.said.setText(" ".join(filter(None, (company, ended))))
        self.said.setVisible(bool(self.said.text()))
        mine = job.sweep is not None and job.sweep.path == sweep.path
        self.problem.setText(known.problem or (job.problem if mine and not ours else ""))
        self.problem.setVisible(bool(self.problem.text()))
        self._update_trial()

    def _update_trial(self) -> None:
        trial = self.find_trial()
        self.open_run.setEnabled(trial is not None and bool(trial.run))
        self.adopt.setEnabled(trial is not None and bool(trial.params))
        self.stop_one.setEnabled(trial is not None and trial.state in ("waiting", "running"))
        self.words.setText(
            f"Trial {trial.number}" if trial is not None else "Choose a trial in the table or in a chart."
        )

    def _explain_start(self) -> str:
        """Why the sweep cannot be worked on from here; "" where it can."""
        known = self._known
        if known is None or known.record is None:
            return "The sweep cannot be read."
        if self._job.is_busy:
            return "Another sweep is under way in this window: stop it first, or wait for its end."
        if self._context.studies.is_busy:
            return AT_WORK
        left = any(trial.state in ("waiting", "running") for trial in known.record.trials)
        return "" if left or not known.record.ended else known.record.ended

    # ------------------------------------------------------------------------------------------- acting

    @Slot()
    def _start(self) -> None:
        if self._known is not None:
            self._job.start(self._known.sweep)

    @Slot()
    def _add(self) -> None:
        if self._known is None:
            return
        dialog = TrialDialog(self._known.sweep, self.find_trial(), self._background, self.window())
        added = dialog.exec() == QDialog.DialogCode.Accepted
        dialog.deleteLater()
        if added:
            begin = "" if self._job.is_working(self._known.sweep) else " Go on trains it."
            self._context.notifier.notify(f"Trial {dialog.number} waits.{begin}", "success")
            self.changed.emit()

    @Slot()
    def _show_runs(self) -> None:
        if self._known is not None:
            list_runs(self._context, f'"{self._known.sweep.id}" in tags')

    @Slot()
    def _open(self) -> None:
        trial = self.find_trial()
        if trial is not None and trial.run and self._known is not None:
            self._context.open_run(self._known.sweep.run(trial.number).path)

    @Slot()
    def _adopt(self) -> None:
        trial = self.find_trial()
        if trial is not None and self._known is not None:
            adopt_trial(self._context, self._known.sweep, trial)

    @Slot()
    def _stop_one(self) -> None:
        trial, known = self.find_trial(), self._known
        if trial is None or known is None:
            return
        sweep, number = known.sweep, trial.number
        if not ask(self.window(), f"Stop trial {number}?", _STOP, [Answer("stop", "Stop the trial", "danger")]):
            return
        self._background.submit(lambda: stop_trial(sweep, number), self._on_stopped, self._on_not_stopped)

    def _on_stopped(self, told: str) -> None:
        self._context.notifier.notify(told, "success")
        self.changed.emit()

    def _on_not_stopped(self, error: Exception) -> None:
        self._context.notifier.notify(str(error), "warning")
        self.changed.emit()


def stand(known: KnownSweep, context: AppContext) -> Standing:
    """How a sweep stands."""
    record: SweepRecord | None = known.record
    if context.sweeps.is_working(known.sweep):
        return Standing("stopping …", "neutral") if context.sweeps.is_stopping else Standing("working", "accent")
    if record is None:
        return Standing("unreadable", "danger")
    if known.is_alive:
        return Standing("working elsewhere", "accent")
    if record.ended and not any(trial.state in ("waiting", "running") for trial in record.trials):
        return Standing("done", "success")
    return Standing("stopped" if record.trials else "not begun", "neutral")


def _describe(known: KnownSweep) -> str:
    sweep, record = known.sweep, known.record
    best = "highest" if sweep.maximize else "lowest"
    facts = [
        f"{best} {metric_title(sweep.metric)}",
        f"sampler {SAMPLER_TITLES[sweep.sampler]}",
        f"pruner {PRUNER_TITLES[sweep.pruner]}",
        f"seed {sweep.seed}",
        *([f"{sweep.repeats} runs a trial"] if sweep.repeats > 1 else []),
    ]
    if record is not None:
        facts.append(known.count)
        spent, budget = record.spent, sweep.budget
        of_hours = f" of {format_duration(budget.hours * 3600)}" if budget.hours is not None else ""
        of_bytes = f" of {format_bytes(budget.bytes)}" if budget.bytes is not None else ""
        facts += [
            f"{format_duration(spent.seconds)}{of_hours} of training",
            f"{format_bytes(spent.bytes)}{of_bytes} of disk",
        ]
    return " · ".join(facts)
