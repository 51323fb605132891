"""One sweep: how it stands, its views, its trials, and what can be done with them."""

from __future__ import annotations

import time
from functools import partial

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QDialog, QSplitter, QStackedWidget, QWidget

from studio.actions.question import Answer, ask
from studio.pages.studies.adoption import ADOPT, Adoption, weigh_adoption
from studio.pages.studies.set_head import SetHead
from studio.pages.studies.sweeps.names import SettingNames
from studio.pages.studies.sweeps.trial_dialog import TrialDialog
from studio.pages.studies.sweeps.trial_values import TrialValues, read_values
from studio.pages.studies.sweeps.trials_table import TrialsTable
from studio.pages.studies.sweeps.views import CurvesView, ImportanceView, ParallelView, SlicesView, SweepView
from studio.panels.kept_sizes import KeptSizes
from studio.state.context import AppContext
from studio.state.formats import format_ago
from studio.state.sweeps.sweep_list import KnownSweep
from studio.state.sweeps.titles import PRUNER_TITLES, SAMPLER_TITLES
from studio.theme import SPACING, Tone
from studio.widgets import (
    STRETCH,
    Banner,
    Segmented,
    button,
    flow_box,
    hbox,
    in_widget,
    label,
    make_breakable,
    scroll_area,
    set_tooltip,
    vbox,
)
from training.errors import TrainingError, format_bytes, format_duration
from training.sweeps.by_hand import stop_trial
from training.sweeps.folder import Sweep
from training.sweeps.records import TrialRecord

_VIEWS = (("curves", "Curves"), ("importance", "Importance"), ("parallel", "Parallel"), ("slices", "Slices"))
_COMPANY = (
    "A run is being trained in this window, too: both are slower for it, and on a GPU both have to fit into its memory."
)
_DATABASE = "Its trials stay in the database."
_LEAST = 170  # pixels of either
_SIZES = [300, 260]  # pixels of the views, and of the trials
_STOP = "Its run is stopped and kept, and can be resumed like any other, but the sweep does not go on with this trial."


class SweepDetail(QWidget):
    """Signals: `changed()` when something was done to the sweep that is to be seen."""

    changed = Signal()

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context, self._job = context, context.sweeps.job
        self._background = context.sweeps.waiting
        self._known: KnownSweep | None = None
        self.chosen: int | None = None
        self._names: SettingNames | None = None
        self._tried: tuple[TrialRecord, TrialValues | str] | None = None  # values of the trial, or why it has none
        self._adoption: Adoption | None = None
        self.add = button("Add a trial …", "plus", clicked=self._add)
        self.head = SetHead(context, "sweep", self._job, self._begin, [self.add])
        self.head.delete.clicked.connect(self._delete)
        self.said = label("", "help", wrap=True)
        self.problem = Banner("danger", "", closable=False)
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
        self.adopt = button(ADOPT, "check", clicked=self._adopt)
        self.stop_one = button("Stop this trial …", "stop", clicked=self._stop_one)
        self.words, self.reason = label("", "caption"), label("", "help", wrap=True)
        self._lay_out()
        self._connect()

    def _lay_out(self) -> None:
        self._stack = QStackedWidget()
        for view in self.views.values():
            self._stack.addWidget(view)
        self._stack.setMinimumHeight(_LEAST)
        self.table.setMinimumHeight(_LEAST)
        acts = QWidget()
        flow_box(self.open_run, self.adopt, self.stop_one, self.words, parent=acts)
        below = in_widget(vbox((self.table, 1), acts, self.reason))
        self._split = QSplitter(Qt.Orientation.Vertical)
        self._split.setHandleWidth(SPACING.s)
        self._split.addWidget(self._stack)
        self._split.addWidget(below)
        self._split.setSizes(KeptSizes(self._split, self._context.settings, "sweep").find() or _SIZES)
        self._split.setChildrenCollapsible(False)
        content = vbox(
            self.head,
            self.said,
            self.problem,
            hbox(self.choice, STRETCH),
            (in_widget(vbox((self._split, 1))), 1),  # keeps the room of one that shows nothing
            spacing=SPACING.m,
            margins=(SPACING.m, SPACING.l, SPACING.l, SPACING.l),
        )
        vbox((scroll_area(in_widget(content), "Sweep"), 1), parent=self)

    def _connect(self) -> None:
        self.choice.current_changed.connect(self._on_view)
        for view in self.views.values():
            view.trial_pressed.connect(self.choose)
        self.table.chosen.connect(self.choose)
        self.table.opened.connect(lambda _number: self._open())
        self._job.changed.connect(self._update)
        self._context.live.state_changed.connect(self._update)
        self._context.draft.changed.connect(self._on_draft_changed)

    # ------------------------------------------------------------------------------------------- showing

    @property
    def sweep_id(self) -> str:
        """The id of the sweep that is shown; "" for none."""
        return self._known.id if self._known is not None else ""

    def show_sweep(self, known: KnownSweep) -> None:
        """Show a sweep as it is now."""
        if known is self._known:
            self._update()
            return
        if self.sweep_id != known.id:
            self.chosen = known.record.best if known.record is not None else None
        self._known = known
        self._names = names = SettingNames(known.sweep.space, known.base)
        if known.record is not None:
            self.table.show_record(known.record, names, self.chosen)
            self._front().show_record(known.record, names, self.chosen)
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
        if self._known is not None and self._known.record is not None and self._names is not None:
            self.views[key].show_record(self._known.record, self._names, self.chosen)

    @Slot()
    def _update(self) -> None:
        known = self._known
        if known is None:
            return
        job, record, folder = self._job, known.record, known.sweep.path
        ours = job.is_at(folder)
        self.head.show_one(folder, known.title, _describe(known), known.state, known.fraction)
        self.head.show_way_on(known.state, self._context.sweeps.find_obstacle())
        self.head.count_runs(sum(len(trial.runs) for trial in record.trials) if record is not None else 0)
        self.add.setEnabled(record is not None)
        company = _COMPANY if ours and self._context.is_training() else ""
        ended = record.ended if record is not None and not ours else ""
        self.said.setText(" ".join(filter(None, (company, ended))))
        self.said.setVisible(bool(self.said.text()))
        failed = job.problem if job.folder == folder and not ours else ""
        self.problem.set_message(
            "This sweep cannot be read" if known.problem else "It did not come to its end",
            self._names.say(known.problem or failed) if self._names is not None else "",
            "danger",
        )
        self.problem.setVisible(bool(known.problem or failed))
        self._update_trial()

    def _update_trial(self) -> None:
        trial = self.find_trial()
        self.open_run.setEnabled(trial is not None and bool(trial.run))
        self.stop_one.setEnabled(trial is not None and trial.state in ("waiting", "running"))
        self.words.setText(
            f"Trial {trial.number}" if trial is not None else "Choose a trial in the table or in a chart."
        )
        tried = self._read_tried(trial) if trial is not None else ""
        self._adoption = None if isinstance(tried, str) else weigh_adoption(self._context.draft, *tried)
        self.adopt.setText(self._adoption.button if self._adoption is not None else ADOPT)
        self.adopt.setEnabled(self._adoption is not None and self._adoption.can)
        told = f"{self._adoption.changes}\n{self._adoption.tooltip}" if self._adoption is not None else str(tried)
        reason = self._adoption.reason if self._adoption is not None else str(tried)
        self.reason.setText(make_breakable(reason))
        self.reason.setVisible(bool(reason))
        set_tooltip(self.adopt, told)

    def _read_tried(self, trial: TrialRecord) -> TrialValues | str:
        """What it tried, or why that cannot be told."""
        known = self._known
        if known is None or known.base is None or not trial.params:
            return "It has no settings yet."
        if self._tried is None or self._tried[0] != trial:
            try:
                self._tried = trial, read_values(known.sweep.space, known.base, trial.params)
            except TrainingError as error:
                self._tried = trial, str(error)
        return self._tried[1]

    @Slot()
    def _on_draft_changed(self) -> None:
        if self.isVisible():
            self._update_trial()

    # ------------------------------------------------------------------------------------------- acting

    def _begin(self) -> str:
        return self._context.sweeps.begin(self._known.sweep) if self._known is not None else ""

    @Slot()
    def _delete(self) -> None:
        known = self._known
        if known is None:
            return
        trials = known.record.trials if known.record is not None else ()
        runs = [run for trial in trials for run in known.sweep.runs(trial.number) if run.id in trial.runs]
        self.head.ask_and_delete(
            f"the sweep of “{known.title}”" if known.is_told else f"the damaged sweep {known.id}",
            "Its settings and what its trials came to",
            _DATABASE if known.sweep.storage else "",
            runs,
            partial(self._context.sweeps.list.remove, known.sweep),
        )

    @Slot()
    def _add(self) -> None:
        if self._known is None or self._names is None:
            return
        sweep = self._known.sweep
        dialog = TrialDialog(
            sweep,
            self._names,
            self.find_trial(),
            self._background,
            lambda number: self._pass_over(sweep, number),
            self.window(),
        )
        added = dialog.exec() == QDialog.DialogCode.Accepted
        dialog.deleteLater()
        if added:
            begin = "" if self._job.is_at(self._known.sweep.path) else f" {self.head.go_on.text()} trains it."
            self._context.notifier.notify(f"Trial {dialog.number} waits.{begin}", "success")
            self.changed.emit()

    def _pass_over(self, sweep: Sweep, number: int) -> None:
        """A trial that came to be although it was canceled meanwhile."""
        self._background.submit(
            lambda: stop_trial(sweep, number), lambda _told: self.changed.emit(), partial(self._tell, "warning")
        )

    @Slot()
    def _open(self) -> None:
        trial = self.find_trial()
        if trial is not None and trial.run and self._known is not None:
            self._context.open_run(self._known.sweep.run(trial.number).path)

    @Slot()
    def _adopt(self) -> None:
        if self._adoption is not None:
            self._adoption.adopt(self._context)

    @Slot()
    def _stop_one(self) -> None:
        trial, known = self.find_trial(), self._known
        if trial is None or known is None:
            return
        sweep, number = known.sweep, trial.number
        if not ask(self.window(), f"Stop trial {number}?", _STOP, [Answer("stop", "Stop the trial", "danger")]):
            return
        self._background.submit(
            lambda: stop_trial(sweep, number), partial(self._tell, "success"), partial(self._tell, "warning")
        )

    def _tell(self, tone: Tone, told: object) -> None:
        self._context.notifier.notify(str(told), tone)
        self.changed.emit()


def _describe(known: KnownSweep) -> str:
    sweep, record = known.sweep, known.record
    if not known.is_told:
        return known.id
    made = f"{format_ago(sweep.created, time.time())} · " if sweep.created else ""
    facts = [
        known.goal,
        f"{SAMPLER_TITLES[sweep.sampler]} sampler",
        f"{PRUNER_TITLES[sweep.pruner]} pruner" if sweep.pruner != "none" else "no pruner",
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
    return f"{made}{known.id}\n{' · '.join(facts)}"
