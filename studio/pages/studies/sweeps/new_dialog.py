"""New sweep: what is varied over what, how it is searched, what it may take, and what it will."""

from __future__ import annotations

import re

from PySide6.QtCore import QTimer, Slot
from PySide6.QtWidgets import QDialog, QWidget
from shiboken6 import isValid

from studio.pages.studies.sweeps.options_form import OptionsForm
from studio.pages.studies.sweeps.varied_card import VariedCard
from studio.state.context import AppContext
from studio.state.formats import metric_title
from studio.state.sweeps.expected import TrialCost, describe_expected
from studio.theme import SPACING
from studio.widgets import STRETCH, button, hbox, in_widget, label, resize_within_parent, scroll_area, vbox
from training.config import RunConfig
from training.errors import InputError, TrainingError, pluralize
from training.sweeps.folder import Sweep
from training.sweeps.optuna_study import require_optuna
from training.sweeps.request import check_request, make_sweep
from training.sweeps.space import read_space

_SIZE = 760, 760
_OPTION = re.compile(r"--(\w+)(?: (.*?))?: (.*)", re.DOTALL)
_REST = 250  # milliseconds after the last key


class NewSweepDialog(QDialog):
    """Of ``base``, the draft as it is when it opens. ``made`` is the sweep once it was created; ``is_to_start``: its work is wanted at
    once."""

    def __init__(self, context: AppContext, base: RunConfig, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("New sweep")
        self.setModal(True)
        self.made: Sweep | None = None
        self.is_to_start = False
        self._context, self.base = context, base
        self.cost = TrialCost(context.settings, self)
        self._is_making = self._is_canceled = False
        self._refused = ""  # why it could not be made, until something else is asked for
        self._rest = QTimer(self, singleShot=True, interval=_REST)
        self.varied, self.options = VariedCard(context.draft), OptionsForm()
        self.expected = label("", wrap=True)
        self.problem = label("", "problem", wrap=True)
        self.start = button("Create and start", "play", "primary", clicked=lambda: self._create(True))
        self.create_only = button("Create", clicked=lambda: self._create(False))
        self._lay_out()
        self.cost.changed.connect(self._check)
        self.finished.connect(self.cost.stop)
        self.rejected.connect(self._cancel)
        self._rest.timeout.connect(self._check)
        for edited in (self.varied.edited, self.options.edited):
            edited.connect(self._on_edited)
        for chosen in (self.varied.changed, self.options.sampler_chosen, self.options.pruner_chosen):
            chosen.connect(self._follow)
        context.sweeps.job.changed.connect(self._rest.start)  # it may have ended
        self._follow()
        self.cost.measure(base)

    def _lay_out(self) -> None:
        base, best = self.base, "highest" if self.base.maximize else "lowest"
        frozen = (
            f"Each trial is a run of “{base.name}” as the forms on Setup have it now, with other values of what is varied. Later changes of the "
            f"forms do not touch the sweep. The {best} {metric_title(base.monitor)} is best."
        )
        inside = vbox(label(frozen, "help", wrap=True), self.varied, self.options, STRETCH, spacing=SPACING.m)
        vbox(
            label("New sweep", "section"),
            (scroll_area(in_widget(inside), "New sweep"), 1),
            self.expected,
            self.problem,
            hbox(STRETCH, self.start, self.create_only, button("Cancel", clicked=self.reject)),
            parent=self,
            spacing=SPACING.m,
            margins=(SPACING.xl, SPACING.l, SPACING.xl, SPACING.l),
        )
        resize_within_parent(self, *_SIZE)

    # ------------------------------------------------------------------------------------------- checking

    @Slot()
    def _on_edited(self) -> None:
        self._refused = ""
        self._rest.start()

    @Slot()
    def _follow(self) -> None:
        self._refused = ""
        self.varied.set_grid(self.options.is_grid())
        self._check()

    @Slot()
    def _check(self) -> None:
        """Say beside each field what is wrong, and below all what the whole will take."""
        if self._is_making:
            return
        complete = self.varied.tell_gaps()
        wrong = self.options.tell_faults()
        self._tell_problem(self._refused)
        told, ready = "What it will take is told once something is varied.", False
        try:
            if wrong and complete:  # what is varied is looked at all the same
                read_space(self.base, self.varied.vary, self.options.sampler.currentData())
            request = None if wrong else self.options.request(self.varied.vary)
            if request is not None:
                require_optuna(request.sampler, request.pruner)
            if request is not None and complete:
                space, budget = check_request(self.base, request)
                told, ready = describe_expected(self.base, budget, request, self.cost), True
                if request.sampler == "grid":
                    told = f"The grid has {pluralize(space.count_grid(), 'combination')}. {told}"
        except InputError as error:
            self._tell_problem(str(error))
            told = ""
        if wrong:
            told, also = "", f"{', '.join(wrong)} {'needs' if len(wrong) == 1 else 'need'} attention."
            self.problem.setText(f"{self.problem.text()} {also}".strip())
            self.problem.show()
        self.expected.setText(told)
        self.expected.setVisible(bool(told))
        busy = self._context.sweeps.find_obstacle()
        self.start.setEnabled(ready and not busy)
        self.start.setToolTip(busy)
        self.create_only.setEnabled(ready)

    def _tell_problem(self, message: str) -> None:
        """Beside the field that it is about, where there is one."""
        found = _OPTION.fullmatch(message)
        option, about, words = (found[1], found[2] or "", found[3]) if found else ("", "", message)
        name = self.options.mark(option)
        row = self.varied.rows.get(about.partition("=")[0])
        if row is not None:
            row.set_problem(words[:1].upper() + words[1:])
            words = f"{row.title} needs attention."
        elif name:
            words = f"{name}: {words[:1].lower()}{words[1:]}"
        self.problem.setText(words)
        self.problem.setVisible(bool(words))

    # ------------------------------------------------------------------------------------------- making

    def _create(self, start: bool) -> None:
        workspace, base = self._context.workspace, self.base
        try:
            request = self.options.request(self.varied.vary)
        except InputError:
            self._check()
            return
        self._is_making = True
        for part in (self.start, self.create_only):
            part.setEnabled(False)
        self.problem.hide()
        self.expected.setText("The sweep is being made …")
        self._context.sweeps.waiting.submit(
            lambda: make_sweep(workspace, base, request), lambda made: self._take(made, start), self._fail
        )

    @Slot()
    def _cancel(self) -> None:
        self._is_canceled = True

    def _take(self, made: Sweep, start: bool) -> None:
        if self._is_canceled or not isValid(self):
            sweeps, notifier = self._context.sweeps, self._context.notifier
            sweeps.list.remove(made, lambda error: notifier.notify(str(error), "danger"))
            return
        self.made, self.is_to_start = made, start
        self._context.draft.swept.clear()
        self.accept()

    def _fail(self, error: Exception) -> None:
        if isValid(self) and not self._is_canceled:
            self._is_making = False
            known = isinstance(error, TrainingError)
            self._refused = str(error) if known else f"The sweep was not made: {error}"
            self._check()
