"""New sweep: what is varied over what, who proposes, who stops a trial early, what it may take, and what it will."""

from __future__ import annotations

import re

from PySide6.QtCore import QTimer, Slot
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QDialog, QFormLayout, QLabel, QLineEdit, QWidget
from shiboken6 import isValid

from studio.forms.messages import KIND_TITLES
from studio.forms.sweep_entry import fitting_kinds, sweep_setting
from studio.pages.studies.sweeps.dimension_row import DimensionRow
from studio.pages.studies.sweeps.setting_search import SettingSearch
from studio.state.context import AppContext
from studio.state.drafts.setting_specs import split_path
from studio.state.formats import metric_title
from studio.state.sweeps.expected import TrialCost, describe_expected
from studio.state.sweeps.titles import PRUNER_TITLES, SAMPLER_TITLES
from studio.theme import SPACING, set_invalid
from studio.widgets import (
    STRETCH,
    Card,
    ComboBox,
    NumberEdit,
    button,
    hbox,
    in_widget,
    label,
    scroll_area,
    vbox,
)
from training.config import RunConfig
from training.errors import InputError, TrainingError, pluralize
from training.sweeps.folder import USUAL_TRIALS, Sweep
from training.sweeps.optuna_study import PASSWORD, require_optuna
from training.sweeps.request import PRUNER_WORDS, SAMPLER_WORDS, SweepRequest, check_request, make_sweep

_SIZE = 760, 760
_OPTION = re.compile(r"--(\w+)(?: (.*?))?: (.*)", re.DOTALL)
_REST = 250  # milliseconds after the last key


class NewSweepDialog(QDialog):
    """Of the draft as it is when it opens. ``made`` is the sweep once it was created; ``is_to_start``: its work is wanted at once."""

    def __init__(self, context: AppContext, base: RunConfig, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("New sweep")
        self.setModal(True)
        self.made: Sweep | None = None
        self.is_to_start = False
        self._context, self.base = context, base
        self.rows: dict[str, DimensionRow] = {}
        self.cost = TrialCost(context.settings, self)
        self.cost.changed.connect(self._check)
        self._rest = QTimer(self, singleShot=True, interval=_REST)
        self._rest.timeout.connect(self._check)
        self.search = SettingSearch(context.draft)
        self.search.chosen.connect(self._add)
        self.sampler, self.pruner = ComboBox(), ComboBox()
        self._sampler_words, self._pruner_words = label("", "help", wrap=True), label("", "help", wrap=True)
        self.seed = NumberEdit("int", minimum=0)
        self.trials = NumberEdit("int", minimum=1, optional=True)
        self.hours, self.disk = NumberEdit(optional=True, unit="h"), NumberEdit(optional=True, unit="GB")
        self.storage = QLineEdit(placeholderText="a journal in the sweep's folder")
        self.expected = label("", wrap=True)
        self.problem = label("", "problem", wrap=True)
        self._empty = label(
            "Nothing yet. Add a setting above, or choose “Sweep this setting” from its menu on Setup.",
            "help",
            wrap=True,
        )
        self.start = button("Create and start", "play", "primary", clicked=lambda: self._create(True))
        self.create_only = button("Create", clicked=lambda: self._create(False))
        self._lay_out()
        self._fill()
        self._connect()
        context.draft.swept.changed.connect(self._list_rows)
        self._list_rows()
        self.cost.measure(base)

    # ------------------------------------------------------------------------------------------- building

    def _lay_out(self) -> None:
        base = self.base
        best = "highest" if base.maximize else "lowest"
        frozen = (
            f"Each trial is a run of “{base.name}” as the forms on Setup have it now, with other values of what is varied. Later changes of the "
            f"forms do not touch the sweep. The {best} {metric_title(base.monitor)} is best."
        )
        varied = Card("What is varied")
        self._column = vbox(spacing=0)
        varied.add(self.search, self._empty, self._column)
        how = Card("How")
        how.add(
            _form(
                ("Sampler", _with_words(self.sampler, self._sampler_words)),
                ("Pruner", _with_words(self.pruner, self._pruner_words)),
                ("Seed", self.seed),
            )
        )
        budget = Card(
            "Budget",
            subtitle=f"No trial begins once one of these is used up. With all of them empty it is {USUAL_TRIALS} trials, of a grid all.",
        )
        budget.add(
            hbox(
                label("Trials"), self.trials, SPACING.m, label("Training"), self.hours, SPACING.m, label("Disk"), self.disk, STRETCH
            )
        )  # fmt: skip
        keep = Card(
            "Storage",
            subtitle=f"For workers on several machines: PostgreSQL, postgresql://USER@HOST/DATABASE. No file keeps a password; give it in {PASSWORD}.",
        )
        keep.add(self.storage)
        inside = in_widget(
            vbox(label(frozen, "help", wrap=True), varied, how, budget, keep, STRETCH, spacing=SPACING.m)
        )
        vbox(
            label("New sweep", "section"),
            (scroll_area(inside), 1),
            self.expected,
            self.problem,
            hbox(STRETCH, self.start, self.create_only, button("Cancel", clicked=self.reject)),
            parent=self,
            spacing=SPACING.m,
            margins=(SPACING.xl, SPACING.l, SPACING.xl, SPACING.l),
        )
        for line, width in ((self.seed, 96), (self.trials, 72), (self.hours, 84), (self.disk, 84)):
            line.setFixedWidth(width)
        parent = self.parentWidget()
        room = parent.window().height() - 2 * SPACING.xl if parent is not None else _SIZE[1]
        self.resize(_SIZE[0], min(_SIZE[1], room))

    def _fill(self) -> None:
        for name, title in SAMPLER_TITLES.items():
            self.sampler.addItem(title, name)
        for pruner, title in PRUNER_TITLES.items():
            self.pruner.addItem(title, pruner)
        for part, spoken in (
            (self.sampler, "Sampler"),
            (self.pruner, "Pruner"),
            (self.seed, "Seed"),
            (self.trials, "Trials"),
            (self.hours, "Hours of training"),
            (self.disk, "Gigabytes of disk"),
            (self.storage, "Storage"),
        ):
            part.setAccessibleName(spoken)
        self.seed.setText("0")
        self.trials.setText(str(USUAL_TRIALS))
        self._follow_choices()

    def _connect(self) -> None:
        self.sampler.currentIndexChanged.connect(self._suit_budget)
        for combo in (self.sampler, self.pruner):
            combo.currentIndexChanged.connect(self._follow_choices)
        for line in (self.seed, self.trials, self.hours, self.disk, self.storage):
            line.textChanged.connect(self._rest.start)

    # ------------------------------------------------------------------------------------------- settings

    @Slot(str)
    def _add(self, path: str) -> None:
        sweep_setting(self._context.draft, path)

    @Slot()
    def _list_rows(self) -> None:
        draft = self._context.draft
        wanted = draft.swept.texts
        for path in [path for path in self.rows if path not in wanted]:
            self.rows.pop(path).deleteLater()
        for path, text in wanted.items():
            if path not in self.rows:
                self.rows[path] = self._make_row(path, text)
                self._column.addWidget(self.rows[path])
        self._empty.setVisible(not self.rows)
        self.search.offer()
        self._follow_choices()

    def _make_row(self, path: str, text: str) -> DimensionRow:
        draft = self._context.draft
        section, name = split_path(path)
        if name == "kind":
            known = fitting_kinds(draft, section)
            row = DimensionRow(path, KIND_TITLES[section], text, known, False, False)
        else:
            try:
                spec = draft.spec(path)
            except KeyError:  # the draft has another kind since
                row = DimensionRow(path, path, text, (), True, False)
            else:
                choices = ("false", "true") if spec.editor == "bool" else spec.choices
                is_number = spec.editor in ("int", "float", "duration")
                row = DimensionRow(path, spec.title, text, choices, is_number, spec.log_scale)
        row.edited.connect(self._on_edited)
        row.removed.connect(draft.swept.take_out)
        return row

    @Slot(str)
    def _on_edited(self, path: str) -> None:
        self._context.draft.swept.write(path, self.rows[path].text())
        self._rest.start()

    @Slot()
    def _suit_budget(self) -> None:
        """A grid is tried as a whole, unless another number is asked for."""
        is_grid, usual = self.sampler.currentData() == "grid", str(USUAL_TRIALS)
        self.trials.setPlaceholderText("all" if is_grid else "")
        if self.trials.text() == ("" if not is_grid else usual):
            self.trials.setText("" if is_grid else usual)

    @Slot()
    def _follow_choices(self) -> None:
        self._sampler_words.setText(SAMPLER_WORDS[self.sampler.currentData()])
        self._pruner_words.setText(PRUNER_WORDS[self.pruner.currentData()])
        for path, row in self.rows.items():
            row.set_grid(self.sampler.currentData() == "grid", self._is_whole(path))
        self._check()

    def _is_whole(self, path: str) -> bool:
        try:
            return self._context.draft.spec(path).editor in ("int", "duration")
        except KeyError:
            return False

    # ------------------------------------------------------------------------------------------- checking

    def request(self) -> SweepRequest:
        """What is asked for now. Raises InputError for a field that holds no number."""
        for option, line in (("seed", self.seed), ("trials", self.trials), ("hours", self.hours), ("disk", self.disk)):
            if line.problem():
                raise InputError(f"--{option}: {line.problem()}")
        trials, seed = self.trials.value(), self.seed.value()
        return SweepRequest(
            tuple(f"{path}={row.text()}" for path, row in self.rows.items()),
            self.sampler.currentData(),
            self.pruner.currentData(),
            int(seed or 0),
            None if trials is None else int(trials),
            self.hours.value(),
            self.disk.value(),
            self.storage.text().strip(),
        )

    @Slot()
    def _check(self) -> None:
        """Say beside each field what is wrong, and what the whole will take."""
        gaps = {path: row.gap() for path, row in self.rows.items()}
        for path, row in self.rows.items():
            row.set_problem(gaps[path])
        wrong, words, budget = "", "", None
        try:
            request = self.request()
            require_optuna(request.sampler, request.pruner)
            if self.rows and not any(gaps.values()):
                space, budget = check_request(self.base, request)
        except InputError as error:
            wrong, words = self._place_problem(str(error))
        for option, part in self._fields().items():
            set_invalid(part, option == wrong)
        self.problem.setText(words)
        self.problem.setVisible(bool(words))
        ready = budget is not None
        self.start.setEnabled(ready and not self._context.sweeps.is_busy)
        self.start.setToolTip(
            "Another sweep is under way; this one can be started after it." if self._context.sweeps.is_busy else ""
        )
        self.create_only.setEnabled(ready)
        if budget is None:
            self.expected.setText("What it will take is told once something is varied." if not words else "")
            return
        told = describe_expected(self.base, budget, request.pruner != "none", self.cost)
        combinations = (
            f"The grid has {pluralize(space.count_grid(), 'combination')}. " if request.sampler == "grid" else ""
        )
        self.expected.setText(f"{combinations}{told}")

    def _fields(self) -> dict[str, QWidget]:
        return {
            "sampler": self.sampler,
            "pruner": self.pruner,
            "seed": self.seed,
            "trials": self.trials,
            "hours": self.hours,
            "disk": self.disk,
            "storage": self.storage,
        }

    def _place_problem(self, message: str) -> tuple[str, str]:
        """The option that is wrong, and what is left to be said below all: what a row can say, it says."""
        found = _OPTION.fullmatch(message)
        if found is None:
            return "", message
        option, about, words = found[1], found[2] or "", found[3]
        words = words[:1].upper() + words[1:]
        row = next((row for path, row in self.rows.items() if about.partition("=")[0] == path), None)
        if row is not None:
            row.set_problem(words)
            return option, f"{row.title} needs attention."
        return option, f"{option.capitalize()}: {words[:1].lower()}{words[1:]}"

    # ------------------------------------------------------------------------------------------- making

    def _create(self, start: bool) -> None:
        workspace, base = self._context.workspace, self.base
        try:
            request = self.request()
        except InputError:
            self._check()
            return
        for part in (self.start, self.create_only):
            part.setEnabled(False)
        self.problem.hide()
        self.expected.setText("The sweep is being made …")
        self._context.background.submit(
            lambda: make_sweep(workspace, base, request), lambda made: self._take(made, start), self._fail
        )

    def _take(self, made: Sweep, start: bool) -> None:
        if isValid(self):
            self.made, self.is_to_start = made, start
            self._context.draft.swept.clear()
            self.accept()

    def _fail(self, error: Exception) -> None:
        if not isValid(self):
            return
        self._check()
        option, words = self._place_problem(
            str(error) if isinstance(error, TrainingError) else f"The sweep was not made: {error}"
        )
        if option in self._fields():
            set_invalid(self._fields()[option], True)
        self.problem.setText(words)
        self.problem.show()

    def done(self, result: int) -> None:
        self.cost.stop()
        super().done(result)

    def closeEvent(self, event: QCloseEvent) -> None:
        self.cost.stop()
        super().closeEvent(event)


def _with_words(combo: QWidget, words: QLabel) -> QWidget:
    return in_widget(vbox(hbox(combo, STRETCH), words, spacing=SPACING.xs))


def _form(*rows: tuple[str, QWidget]) -> QFormLayout:
    form = QFormLayout()
    form.setHorizontalSpacing(SPACING.l)
    form.setVerticalSpacing(SPACING.m)
    for title, part in rows:
        form.addRow(label(title, "field"), part)
    return form
